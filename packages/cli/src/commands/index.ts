/** All commands by name. Each is loaded when it is used. */

import type { Command } from "../command.ts";

export const commands = {
  ls: async (): Promise<Command> => (await import("./ls.ts")).ls,
  show: async (): Promise<Command> => (await import("./show.ts")).show,
  tail: async (): Promise<Command> => (await import("./tail.ts")).tail,
  tree: async (): Promise<Command> => (await import("./tree.ts")).tree,
  diff: async (): Promise<Command> => (await import("./diff.ts")).diffCommand,
  limits: async (): Promise<Command> => (await import("./limits.ts")).limits,
  workers: async (): Promise<Command> => (await import("./workers.ts")).workers,
  ui: async (): Promise<Command> => (await import("./ui.ts")).ui,
  resume: async (): Promise<Command> => (await import("./resume.ts")).resume,
  send: async (): Promise<Command> => (await import("./send.ts")).send,
  wake: async (): Promise<Command> => (await import("./wake.ts")).wake,
  cancel: async (): Promise<Command> => (await import("./cancel.ts")).cancel,
  pause: async (): Promise<Command> => (await import("./steer.ts")).pause,
  unpause: async (): Promise<Command> => (await import("./steer.ts")).unpause,
  retry: async (): Promise<Command> => (await import("./steer.ts")).retry,
  score: async (): Promise<Command> => (await import("./score.ts")).score,
  fork: async (): Promise<Command> => (await import("./fork.ts")).fork,
  schedules: async (): Promise<Command> => (await import("./schedules.ts")).schedules,
  rm: async (): Promise<Command> => (await import("./rm.ts")).rm,
  purge: async (): Promise<Command> => (await import("./purge.ts")).purge,
  doctor: async (): Promise<Command> => (await import("./doctor.ts")).doctor,
  replay: async (): Promise<Command> => (await import("./replay.ts")).replay,
  eval: async (): Promise<Command> => (await import("./eval.ts")).evalCommand,
  explain: async (): Promise<Command> => (await import("./explain.ts")).explain,
  export: async (): Promise<Command> => (await import("./export.ts")).exportCommand,
  import: async (): Promise<Command> => (await import("./import.ts")).importCommand,
  copy: async (): Promise<Command> => (await import("./copy.ts")).copy,
  migrate: async (): Promise<Command> => (await import("./migrate.ts")).migrate,
  init: async (): Promise<Command> => (await import("./init.ts")).init,
  mcp: async (): Promise<Command> => (await import("./mcp.ts")).mcp,
  completion: async (): Promise<Command> => (await import("./completion.ts")).completion,
};

export type CommandName = keyof typeof commands;
