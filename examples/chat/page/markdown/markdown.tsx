/** Markdown of a model as elements. It is parsed again with every word, so the tree is kept while the text is the same. */

import { memo, useState } from "react";
import { blocksOf, type Block } from "./blocks.ts";
import { highlight } from "./highlight.tsx";
import { inline } from "./inline.tsx";

export const Markdown = memo(({ text }: { readonly text: string }) => <Blocks blocks={blocksOf(text)} />);

function Blocks({ blocks }: { readonly blocks: readonly Block[] }) {
  return blocks.map((block, index) => <One key={index} block={block} />);
}

function One({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "heading": {
      const Heading = block.level < 3 ? "h3" : "h4";
      return <Heading>{inline(block.text)}</Heading>;
    }
    case "text":
      return <p>{inline(block.text)}</p>;
    case "code":
      return <Code language={block.language} text={block.text} />;
    case "quote":
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case "list":
      return <List start={block.start} items={block.items} />;
    case "table":
      return <Table head={block.head} rows={block.rows} />;
    case "rule":
      return <hr />;
  }
}

function List({ start, items }: Pick<Extract<Block, { kind: "list" }>, "start" | "items">) {
  const children = items.map((blocks, index) => {
    const [only] = blocks;
    // An item of one paragraph has no space around it.
    const isPlain = blocks.length === 1 && only?.kind === "text";
    return <li key={index}>{isPlain ? inline(only.text) : <Blocks blocks={blocks} />}</li>;
  });
  return start === null ? <ul>{children}</ul> : <ol start={start}>{children}</ol>;
}

function Table({ head, rows }: Pick<Extract<Block, { kind: "table" }>, "head" | "rows">) {
  return (
    <div className="table">
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index}>{inline(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {head.map((_, index) => (
                <td key={index}>{inline(row[index] ?? "")}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Code({ language, text }: { readonly language: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(setCopied, 2_000, false);
  };
  return (
    <figure className="code">
      <figcaption>
        <span>{language || "text"}</span>
        <button type="button" className="link" onClick={() => void copy().catch(() => {})}>
          {isCopied ? "Copied" : "Copy"}
        </button>
      </figcaption>
      <pre>
        <code>{highlight(text, language)}</code>
      </pre>
    </figure>
  );
}
