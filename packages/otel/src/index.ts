export { telemetry } from "./telemetry.ts";
export type { ObserveOptions, Telemetry, TelemetryOptions } from "./telemetry.ts";
export { idGenerator } from "./ids.ts";
