/** What the buttons around the editor do: open a workspace or a link, share, start anew. */
import { nextTick, reactive, shallowRef, type ShallowRef } from "vue";
import type { EditorView } from "@codemirror/view";
import { openEditor, setText } from "./editor.ts";
import { programs, type Program } from "./programs.ts";
import { Session } from "./session.ts";
import { emptyOf, forget, openWorkspace, packed, unpacked, workspaceOf } from "./workspace.ts";

const marker = "#play=";

function programOf(name: string): Program {
  return programs.find((one) => one.name === name) ?? programs[0];
}

export class Desk {
  readonly session: ShallowRef<Session | null> = shallowRef(null);
  readonly shown = reactive({ link: "", problem: "", answer: "true" });
  readonly #first: string;
  /** It reads the address of the page, and is the only playground on it. */
  readonly #isWhole: boolean;
  #editor: EditorView | null = null;

  constructor(program: string, isWhole: boolean) {
    this.#first = program;
    this.#isWhole = isWhole;
  }

  mount(editor: HTMLElement): void {
    this.#editor = openEditor(editor, "", (text) => {
      if (this.session.value !== null) this.session.value.kept.code = text;
    });
    this.fromAddress();
    if (this.#isWhole) addEventListener("hashchange", this.fromAddress);
  }

  close(): void {
    removeEventListener("hashchange", this.fromAddress);
    this.session.value?.close();
    this.#editor?.destroy();
  }

  readonly fromAddress = (): void => {
    const link =
      this.#isWhole && location.hash.startsWith(marker) ? location.hash.slice(marker.length) : null;
    this.guarded(link === null ? this.open(this.#first) : this.#openLink(link));
  };

  /** Shows what went wrong. */
  guarded(work: Promise<void>): void {
    this.shown.problem = "";
    work.catch((error: unknown) => {
      this.shown.problem = error instanceof Error ? error.message : String(error);
    });
  }

  async open(name: string): Promise<void> {
    const program = programOf(name);
    await this.#use(new Session(program.name, openWorkspace(program.name, emptyOf(program))));
  }

  async share(session: Session): Promise<void> {
    const objects = await session.objects();
    const text = await packed({ version: 1, kept: { ...session.kept, isShared: true }, objects });
    this.shown.link = `${location.origin}${location.pathname}${location.search}${marker}${text}`;
    await nextTick();
    // The page shows the link, so a browser that forbids the clipboard takes nothing away.
    await navigator.clipboard?.writeText(this.shown.link).catch(() => {});
  }

  async startAnew({ workspace, kept, close }: Session): Promise<void> {
    close();
    await forget(workspace);
    if (location.hash.startsWith(marker)) history.replaceState(null, "", location.pathname + location.search);
    await this.open(kept.program);
  }

  async #openLink(text: string): Promise<void> {
    try {
      const { kept, objects } = await unpacked(text);
      const workspace = await workspaceOf(text);
      const session = new Session(workspace, openWorkspace(workspace, kept));
      await session.fill(objects);
      await this.#use(session);
    } catch (error) {
      await this.open(this.#first);
      throw error;
    }
  }

  async #use(session: Session): Promise<void> {
    this.session.value?.close();
    this.session.value = session;
    this.shown.link = "";
    if (this.#editor !== null) setText(this.#editor, session.kept.code);
    await session.look();
  }
}
