export { runCli } from "./cli.ts";
export { defineConfig, type CliConfig } from "./app-file.ts";
export type { CliStreams, Input, Output } from "./terminal.ts";
