import { readFileSync, statSync } from "node:fs";
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { createOutputBuffer } from "../../../src/tools/shell/output-buffer.ts";
import { createOutputDecoder } from "../../../src/tools/shell/output-text.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const secrets = ["sk-secret-1", "tok"];

function decode(chunks: readonly Uint8Array[]): string {
  const decoder = createOutputDecoder(secrets);
  return chunks.map((chunk) => decoder.push(chunk)).join("") + decoder.flush();
}

describe("bytes become text", () => {
  const cases: [string, string | number[], string][] = [
    ["as they are", "a\tb\r\nc", "a\tb\r\nc"],
    [
      "without colours, titles and moves",
      "\u001b[31mred\u001b[0m \u001b]0;title\u0007x\u001b[2K\u001b(By",
      "red xy",
    ],
    ["without NUL and other control characters", "a\0b\u0007c", "a\uFFFDb\uFFFDc"],
    ["with a replacement for what is not UTF-8", [0x61, 0xff, 0xfe, 0x62], "a\uFFFD\uFFFDb"],
    ["without secrets", "key=sk-secret-1; tok", "key=[redacted]; [redacted]"],
    ["up to an end that promises more", "sk-sec", "sk-sec"],
  ];
  test.each(cases)("%s", (_name, input, expected) => {
    expect(decode([typeof input === "string" ? Buffer.from(input) : Buffer.from(input)])).toBe(expected);
  });

  test("wherever the chunks cut them", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.constantFrom(
        "sk-secret-1",
        "sk-sec",
        "to",
        "\u001b[1;31m",
        "\u001b]8;;http://x\u001b\\",
        "🙂",
        "é",
        "\n",
      ),
    );
    const input = fc.tuple(fc.array(piece), fc.array(fc.nat(200)));
    fc.assert(
      fc.property(input, ([pieces, cuts]) => {
        const bytes = Buffer.from(pieces.join(""));
        const borders = [
          0,
          ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
          bytes.length,
        ];
        const chunks = borders.slice(1).map((border, index) => bytes.subarray(borders[index], border));
        expect(decode(chunks)).toBe(decode([bytes]));
      }),
    );
  });
});

async function buffer(maxSpillBytes = 1e9) {
  const spillFolder = join(await temporaryFolder(), "spill");
  return {
    spillFolder,
    output: createOutputBuffer({ toolName: "bash", spillFolder, maxSpillBytes, secrets }),
  };
}

describe("an output", () => {
  test("that is small is returned whole, and no file is made", async () => {
    const { spillFolder, output } = await buffer();
    output.append(Buffer.from("out\n"), "stdout");
    output.append(Buffer.from("err\n"), "stderr");
    expect(output.soFar()).toEqual({ content: [{ type: "text", text: "out\nerr\n" }] });
    expect(output.finish()).toEqual({ text: "out\nerr\n", details: {} });
    await expect(readdir(spillFolder)).rejects.toThrow("ENOENT");
  });

  test("keeps characters whole whose bytes come between those of the other pipe", async () => {
    const { output } = await buffer();
    const smile = Buffer.from("🙂");
    output.append(smile.subarray(0, 1), "stdout");
    output.append(Buffer.from("err\n"), "stderr");
    output.append(smile.subarray(1), "stdout");
    expect(output.finish().text).toBe("err\n🙂");
  });

  test("that is large is cut to its last lines, and is whole in a file that only its owner can read", async () => {
    const { spillFolder, output } = await buffer();
    const lines = Array.from({ length: 5000 }, (_, index) => `line ${index} tok\n`);
    const umask = process.umask(0);
    for (const line of lines) output.append(Buffer.from(line), "stdout");
    process.umask(umask);
    const { text, details } = output.finish();
    const path = join(spillFolder, (await readdir(spillFolder)).join());
    const whole = lines.join("").replaceAll("tok", "[redacted]");
    expect(readFileSync(path, "utf8")).toBe(whole);
    expect([statSync(path).mode & 0o777, statSync(spillFolder).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(details).toEqual({
      truncated: true,
      totalLines: 5000,
      totalBytes: whole.length,
      fullOutputPath: path,
    });
    const shown = lines.slice(-2000).join("").replaceAll("tok", "[redacted]").trimEnd();
    expect(text).toBe(
      `${shown}\n\n[Output cut: shown are the last 2000 of 5000 lines, ${whole.length} bytes in all. Whole output: ${path}]`,
    );
    expect(JSON.stringify(output.soFar()).length).toBeLessThan(20_000);
  });

  test("of one endless line shows its end, in whole characters", async () => {
    const { output } = await buffer();
    output.append(Buffer.from(`a${"😀".repeat(60_000)}`), "stdout");
    const { text } = output.finish();
    expect(text.isWellFormed()).toBe(true);
    expect(text).toMatch(
      /^(?:😀){12800}\n\n\[Output cut: shown are the last 51200 bytes of the last line of 1,/u,
    );
  });

  test("of invalid bytes that grow in the decoding has a file too", async () => {
    const { output } = await buffer();
    output.append(Buffer.alloc(20_000, 0xff), "stdout");
    expect(output.finish().details).toMatchObject({ truncated: true, fullOutputPath: expect.any(String) });
  });

  test("that exceeds the limit of the file says that it is not complete", async () => {
    const { spillFolder, output } = await buffer(60_000);
    output.append(Buffer.from("x\n".repeat(40_000)), "stdout");
    expect(output.finish().text).toContain("(not complete: it stops at 60000 bytes)");
    expect(statSync(join(spillFolder, (await readdir(spillFolder)).join())).size).toBe(60_000);
  });

  test("is returned where no file can be made", () => {
    const options = {
      toolName: "bash",
      spillFolder: "/dev/null/x",
      maxSpillBytes: 1e9,
      secrets: [],
    } as const;
    const output = createOutputBuffer(options);
    output.append(Buffer.from("x\n".repeat(3000)), "stdout");
    const { text, details } = output.finish();
    expect(text).toContain(
      "[Output cut: shown are the last 2000 of 3000 lines, 6000 bytes in all. The whole output could not be kept: ",
    );
    expect(details).toEqual({ truncated: true, totalLines: 3000, totalBytes: 6000 });
  });
});

test("the first file in a folder removes those that are older than a week, and nothing else", async () => {
  const { spillFolder, output } = await buffer();
  await mkdir(spillFolder);
  const old = new Date(Date.now() - 8 * 24 * 60 * 60 * 1000);
  const id = "00000000-0000-4000-8000-00000000000";
  for (const name of [`bash-${id}1.log`, `bash-${id}2.log`, "notes.log"])
    await writeFile(join(spillFolder, name), "");
  for (const name of [`bash-${id}1.log`, "notes.log"]) await utimes(join(spillFolder, name), old, old);
  output.append(Buffer.from("x\n".repeat(3000)), "stdout");
  output.finish();
  await vi.waitFor(async () => expect(await readdir(spillFolder)).not.toContain(`bash-${id}1.log`));
  expect(await readdir(spillFolder)).toEqual(expect.arrayContaining([`bash-${id}2.log`, "notes.log"]));
});
