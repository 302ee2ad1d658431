/** The parts of an answer that are not text: what the model thought, its sources, its tools, and files. */

import type { UIMessage } from "ai";
import { SafeLink } from "./markdown/inline.tsx";

type Part = UIMessage["parts"][number];
export type ToolPart = Extract<Part, { type: `tool-${string}` } | { type: "dynamic-tool" }>;
type FilePart = Extract<Part, { type: "file" }>;

/** Closed when it is complete: few people read it, and only while they wait. */
export function Reasoning({ text, isOpen }: { readonly text: string; readonly isOpen: boolean }) {
  return (
    <details className="reasoning" open={isOpen}>
      <summary>{isOpen ? "Thinking…" : "Thought about it"}</summary>
      <p>{text}</p>
    </details>
  );
}

export function Sources({ parts }: { readonly parts: readonly Part[] }) {
  const sources = parts.filter((part) => part.type === "source-url");
  if (sources.length === 0) return null;
  return (
    <section className="sources" aria-label="Sources">
      <h4>Sources</h4>
      <ol>
        {sources.map(({ sourceId, url, title }) => (
          <li key={sourceId}>
            <SafeLink url={url}>{title ?? url}</SafeLink>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A card for every tool that has none of its own. */
export function ToolCard({ part, isLive }: { readonly part: ToolPart; readonly isLive: boolean }) {
  const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
  const { kind, text } = standing(part, isLive);
  return (
    <details className="tool">
      <summary>
        <code>{name}</code>
        <span className={`st ${kind}`}>{text}</span>
      </summary>
      <Value name="Input" value={part.input} />
      {part.state === "output-available" && <Value name="Result" value={part.output} />}
      {part.state === "output-error" && <Value name="Error" value={part.errorText} />}
    </details>
  );
}

function standing({ state }: ToolPart, isLive: boolean): { readonly kind: string; readonly text: string } {
  if (state === "output-available") return { kind: "done", text: "Done" };
  if (state === "output-error") return { kind: "fail", text: "Failed" };
  if (state === "output-denied") return { kind: "fail", text: "Denied" };
  return isLive ? { kind: "runs", text: "Running" } : { kind: "fail", text: "Stopped" };
}

function Value({ name, value }: { readonly name: string; readonly value: unknown }) {
  if (value === undefined) return null;
  return (
    <div className="value">
      <h5>{name}</h5>
      <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
    </div>
  );
}

export function Files({ parts }: { readonly parts: readonly Part[] }) {
  const files = parts.filter((part) => part.type === "file");
  if (files.length === 0) return null;
  return (
    <div className="files">
      {files.map((file, index) => (
        <FileView key={index} file={file} />
      ))}
    </div>
  );
}

/** Only images that the page has itself: others would tell their host who looks. */
export function FileView({ file: { mediaType, url, filename } }: { readonly file: FilePart }) {
  const name = filename ?? mediaType;
  const isImage = /^data:image\/(?:png|jpeg|gif|webp|avif);/i.test(url);
  return isImage ? <img src={url} alt={name} title={name} /> : <span className="file">{name}</span>;
}
