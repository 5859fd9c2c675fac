/** Makes text safe to show on a terminal. Keeps its state from call to call, so that text can come in pieces. */
export type TerminalFilter = (text: string) => string;

/**
 * Makes a filter that takes escape sequences and control characters (all but tab and newline) out of text that others
 * wrote: shown as they are, they could move the cursor, change the title or fill the clipboard. A sequence ends at a
 * newline at the latest, so that an unfinished one cannot hide what follows.
 */
export function createTerminalFilter(): TerminalFilter {
  let state: State = "text";
  return (text) => {
    if (state === "text" && !control.test(text)) return text;
    let shown = "";
    for (const char of text) {
      const step: State | "show" = nextState(state, char);
      if (step === "show") shown += char;
      state = step === "show" ? "text" : step;
    }
    return shown;
  };
}

/** One text, whole. */
export function toTerminalText(text: string): string {
  return createTerminalFilter()(text);
}

// `string` is an operating system command or another sequence that holds free text; `stringEscape` may end it.
type State = "text" | "escape" | "intermediate" | "csi" | "string" | "stringEscape";

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

function nextState(state: State, char: string): State | "show" {
  if (char === "\n") return "show";
  switch (state) {
    case "text":
      return afterText(char);
    case "escape":
      return afterEscape(char);
    case "intermediate":
      return char >= "0" && char <= "~" ? "text" : "intermediate";
    case "csi":
      return char === "\u001b" ? "escape" : char >= "@" && char <= "~" ? "text" : "csi";
    case "string":
      if (char === "\u0007" || char === "\u009c") return "text";
      return char === "\u001b" ? "stringEscape" : "string";
    case "stringEscape":
      return char === "\\" ? "text" : afterEscape(char);
  }
}

function afterText(char: string): State | "show" {
  if (char === "\u001b") return "escape";
  if (char === "\u009b") return "csi";
  if ("\u0090\u0098\u009d\u009e\u009f".includes(char)) return "string";
  return control.test(char) ? "text" : "show";
}

function afterEscape(char: string): State {
  if (char === "\u001b") return "escape";
  if (char === "[") return "csi";
  if ("]PX^_".includes(char)) return "string";
  return char >= " " && char <= "/" ? "intermediate" : "text";
}
