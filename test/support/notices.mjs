import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The notices of the packages that bundled files come from: name, version, license, and the license's text.
 * @param {Iterable<string>} files the paths of bundled modules
 * @returns {string}
 */
export function thirdPartyNotices(files) {
  const folders = new Set(
    [...files].flatMap((file) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0] ?? []),
  );
  const notices = [...folders].map(noticeOf).sort((a, b) => (a.title < b.title ? -1 : 1));
  return [
    "base-context holds code of these packages.\n",
    ...notices.map(({ title, license, text }) => `${rule}\n${title}, ${license}\n\n${text}\n`),
  ].join("\n");
}

const rule = "-".repeat(80);

function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)(\.|-|$)/i.test(file));
  if (typeof license !== "string" || files.length === 0)
    throw new Error(`${name} has no license that could go with what is bundled of it; look at ${folder}`);
  const text = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  return { title: `${name} ${version}`, license, text: text.join("\n\n") };
}
