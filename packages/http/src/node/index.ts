export { nodeListener, serve } from "./serve.ts";
export type { ServeOptions, Server } from "./serve.ts";
