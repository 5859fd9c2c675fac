import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readTextFile } from "../../src/config/text-file.ts";
import { createFolder } from "./folder.ts";

test.each<{ name: string; content: string | Uint8Array; text: string }>([
  { name: "plain text", content: "a\nb\n", text: "a\nb\n" },
  { name: "a byte order mark", content: "\uFEFFa", text: "a" },
  { name: "line ends of Windows", content: "a\r\nb\r\n", text: "a\nb\n" },
  { name: "nothing", content: "", text: "" },
])("$name is read as text", ({ content, text }) => {
  const { file, warn, warnings } = createFolder();
  const path = file("x.md", content);
  expect(readTextFile(path, { maxBytes: 100, warn })).toMatchObject({ path, text, isCut: false });
  expect(warnings).toEqual([]);
});

test.each<{ name: string; content: string | Uint8Array; why: string }>([
  { name: "a NUL", content: "a\0b", why: "it is binary" },
  { name: "UTF-16", content: Buffer.from("\uFEFFtext", "utf16le"), why: "it is binary" },
  { name: "Latin-1", content: Buffer.from("é", "latin1"), why: "it is not UTF-8 text; save it as UTF-8" },
])("$name is left out with a warning", ({ content, why }) => {
  const { file, warn, warnings } = createFolder();
  const path = file("x.md", content);
  expect(readTextFile(path, { maxBytes: 100, warn })).toBeUndefined();
  expect(warnings).toEqual([`${path} is left out: ${why}`]);
});

test("what is no regular file is left out with a warning and never waited for", () => {
  const { path, folder, warn, warnings } = createFolder();
  folder("folder");
  execFileSync("mkfifo", [path("fifo")]);
  symlinkSync("fifo", path("link-to-fifo"));
  symlinkSync("/dev/zero", path("device"));
  symlinkSync("loop", path("loop"));
  const names = ["folder", "fifo", "link-to-fifo", "device", "loop"];
  for (const name of names) expect(readTextFile(path(name), { maxBytes: 100, warn })).toBeUndefined();
  expect(warnings).toEqual([
    `${path("folder")} is left out: it is a directory`,
    `${path("fifo")} is left out: it is not a regular file`,
    `${path("link-to-fifo")} is left out: it is not a regular file`,
    `${path("device")} is left out: it is not a regular file`,
    `${path("loop")} is left out: its symbolic links go in a circle`,
  ]);
});

test("what is not there is not worth a warning", () => {
  const { path, file, warn, warnings } = createFolder();
  file("file");
  symlinkSync("nowhere", path("dangling"));
  for (const name of ["missing", "dangling", "file/below", "missing/below"])
    expect(readTextFile(path(name), { maxBytes: 100, warn })).toBeUndefined();
  expect(warnings).toEqual([]);
});

test("two paths to one file have one identity", () => {
  const { path, file, warn } = createFolder();
  file("a");
  file("b");
  symlinkSync("a", path("link"));
  const [a, b, link] = ["a", "b", "link"].map(
    (name) => readTextFile(path(name), { maxBytes: 9, warn })?.identity,
  );
  expect(link).toBe(a);
  expect(b).not.toBe(a);
});

test("a long file is cut between characters, wherever the limit falls", () => {
  const { file, warn } = createFolder();
  const letters = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀"), maxLength: 20 });
  fc.assert(
    fc.property(letters, fc.integer({ min: 1, max: 90 }), (content, maxBytes) => {
      const path = file("x.md", content);
      const sizeBytes = Buffer.byteLength(content);
      const read = readTextFile(path, { maxBytes, warn });
      expect(read).toMatchObject({ sizeBytes, isCut: sizeBytes > maxBytes });
      const text = read?.text ?? "";
      expect(content.startsWith(text)).toBe(true);
      const next = Array.from(content.slice(text.length))[0];
      if (next !== undefined) expect(Buffer.byteLength(text + next)).toBeGreaterThan(maxBytes);
    }),
    { numRuns: 200 },
  );
});
