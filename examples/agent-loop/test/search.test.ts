import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { readDocuments, search } from "../src/search.ts";

const documents = readDocuments(fileURLToPath(new URL("../documents", import.meta.url)));

describe("search", () => {
  test("every document has a title and paragraphs", () => {
    expect(documents.length).toBeGreaterThanOrEqual(6);
    for (const { title, paragraphs } of documents) {
      expect(title).not.toMatch(/^#|^$/);
      expect(paragraphs.length).toBeGreaterThanOrEqual(3);
    }
  });

  test.each([
    ["height between low water and high water", "rule-of-twelfths.md"],
    ["what is a drying height", "chart-datum.md"],
    ["full moon", "spring-and-neap.md"],
    ["Bay of Fundy", "resonance.md"],
    ["slack water in a strait", "tidal-streams.md"],
    ["does air pressure matter", "weather-and-surge.md"],
  ])("%s is found in %s", (query, file) => {
    expect(search(documents, query)[0]?.file).toBe(file);
  });

  test("the excerpt is the paragraph that fits", () => {
    expect(search(documents, "age of the tide, a delay")[0]?.excerpt).toContain("age of the tide");
  });

  test("nothing is made up", () => {
    expect(search(documents, "quarterly tax returns")).toEqual([]);
    expect(search(documents, "")).toEqual([]);
    expect(search([], "tide")).toEqual([]);
  });
});
