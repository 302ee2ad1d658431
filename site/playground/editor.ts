/** The editor: CodeMirror with the words of `ctx` and `info`, as the reference has them. */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import members from "../.pages/members.json";

/** Members of a type of core, from the reference: see scripts/lib/site-pages.ts. */
interface Members {
  readonly Context: readonly Completion[];
  readonly StepInfo: readonly Completion[];
}

const words = members as Members;

/** What a name stands for, by the habits of the documentation. */
const typeOf: Readonly<Record<string, keyof Members>> = { ctx: "Context", c: "Context", info: "StepInfo" };

function complete(context: CompletionContext): CompletionResult | null {
  const before = context.matchBefore(/\b(\w+)\.(\w*)$/);
  const [, name = "", part = ""] = /(\w+)\.(\w*)$/.exec(before?.text ?? "") ?? [];
  const type = typeOf[name];
  return type === undefined
    ? null
    : { from: context.pos - part.length, options: words[type], validFor: /^\w*$/ };
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier], color: "var(--pg-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--pg-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--pg-number)" },
  { tag: tags.comment, color: "var(--vp-c-text-3)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--pg-call)" },
]);

export function openEditor(parent: HTMLElement, text: string, changed: (text: string) => void): EditorView {
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        indentOnInput(),
        bracketMatching(),
        javascript({ typescript: true }),
        syntaxHighlighting(colours),
        autocompletion({ override: [complete], icons: false }),
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({
          tabindex: "0",
          "aria-label": "The program, in TypeScript. Escape, then Tab, leaves the editor.",
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
}

export function setText(view: EditorView, text: string): void {
  if (view.state.doc.toString() !== text)
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}
