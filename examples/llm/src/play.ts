/** Plays a demo from a command line: what it started is ended, however the demo ends. */

export interface Playable {
  play(): Promise<void>;
  end(): Promise<void>;
}

export async function play(demo: Playable): Promise<void> {
  // Somebody piped it into `head`, and has seen enough.
  process.stdout.on("error", () => process.exit(0));
  process.once("SIGINT", () => void demo.end().finally(() => process.exit(130)));
  try {
    await demo.play();
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  } finally {
    await demo.end();
  }
}
