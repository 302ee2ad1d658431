/** The editor: CodeMirror with the words of core, as the reference has them. */
import { autocompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { complete } from "./complete.ts";

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
