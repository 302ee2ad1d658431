/** The floor plan of core: a folder uses only folders below it, and adapters stand beside each other. */

/** From the roof down. Rooms on one line do not use each other. */
export const floors: readonly (readonly string[])[] = [
  ["index.ts", "remote.ts", "storage.ts", "inspect.ts", "clients.ts", "hooks.ts", "types.ts"],
  ["worker"],
  ["app.ts"],
  ["workflow.ts"],
  ["schedules"],
  ["run.ts"],
  ["copy", "inspect", "standalone", "clients"],
  ["runs"],
  ["engine"],
  ["journal", "adapters"],
  ["ports"],
  ["values"],
];

/** The files that reach an adapter from above, through "#default-storage": the host, and an entry of the package. */
export const seams: readonly string[] = ["src/runs/host.ts", "src/storage.ts"];

/** What is wrong with the place of a file of core; null when it is in a room. */
export function placeComplaint(file: string): string | null {
  return floorOf(file) === -1
    ? `${file} is in no room of the floor plan: move it into one of ${floors.flat().filter(isFolder).join(", ")}`
    : null;
}

/** What is wrong with an arrow between two files of core; null when it points down. */
export function arrowComplaint(from: string, to: string): string | null {
  if (room(from) === room(to)) {
    return room(from) === "adapters" && adapter(from) !== adapter(to)
      ? `an adapter imports the adapter ${adapter(to)}: move what both need to ports/storage-kit.ts`
      : null;
  }
  if (floorOf(from) < floorOf(to)) return null;
  return `an arrow from ${room(from)} up to ${room(to)}: move what both need to a floor below`;
}

function room(file: string): string {
  return file.split("/")[1] ?? "";
}

function adapter(file: string): string {
  return (file.split("/")[2] ?? "").replace(/\.ts$/, "");
}

function floorOf(file: string): number {
  return floors.findIndex((rooms) => rooms.includes(room(file)));
}

function isFolder(name: string): boolean {
  return !name.includes(".");
}
