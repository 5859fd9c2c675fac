import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { escapeHtml, type Html, readable } from "./escape.ts";

/** Colours code. `language` is a language's name, an alias of one, or a file's ending; others stay plain. */
export type Highlight = (code: string, language: string | undefined) => Html;

/** Makes a highlighter for one page, which knows the common languages. What is more than `maxPageLength` stays plain. */
export function createHighlight(maxPageLength = defaultPageLength): Highlight {
  let left = maxPageLength;
  const engine = hljs.newInstance();
  for (const [name, language] of Object.entries(languages)) engine.registerLanguage(name, language);
  return (code, language = "") => {
    if (code.length > Math.min(maxLength, left) || engine.getLanguage(language) === undefined)
      return escapeHtml(code);
    left -= code.length;
    return engine.highlight(readable(code), { language, ignoreIllegals: true }).value;
  };
}

/** The language that a file's name tells. */
export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return /^(dockerfile|makefile)/.exec(name)?.[0] ?? /\.(\w+)$/.exec(name)?.[1];
}

/** Colouring takes some seconds for a million characters, and makes them three times as long. */
const maxLength = 100_000;
const defaultPageLength = 2_000_000;

const languages = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  lua,
  makefile,
  markdown,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
};
