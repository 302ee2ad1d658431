export { nodeListener, serve } from "./serve.ts";
export type { NodeRequest, NodeResponse, ServeOptions, Server } from "./serve.ts";
