export {
  chooseModel,
  ModelChoiceError,
  type Choice,
  type ChooseOptions,
  type Environment,
  type Model,
} from "./choose.ts";
export { scriptedModel, type Reply, type Script } from "./scripted.ts";
export { metered } from "./metered.ts";
export { questionOf, toolResultsOf, turnOf, type ToolResult } from "./prompt.ts";
export { watched, watching, type Attempt, type Settlement, type Watcher } from "./watch.ts";
export { terminal, wrapped, type Screen, type Style, type Terminal } from "./terminal.ts";
export { RunPrinter, type PrinterOptions } from "./printer.ts";
export { closingLine, exitCodeOf, type ClosingOptions } from "./closing.ts";
export { portIn, wholeIn } from "./settings.ts";
export { isAddressedHere, isLoopback } from "./local.ts";
export { paceOf, wait } from "./pace.ts";
export { entriesOf, forget } from "./runs.ts";
export { isForUsers } from "./user-errors.ts";
