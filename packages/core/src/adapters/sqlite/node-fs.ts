/**
 * The functions of Node for files. An import of "node:fs" evaluates all of its parts, streams and promises among them: 34
 * modules of Node, and a tenth of the time in which the library is imported.
 */
export const {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} = process.getBuiltinModule("node:fs");
