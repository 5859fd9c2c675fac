import { isJsonObject, type JsonValue } from "../../contract/json.ts";
import { parseJson } from "../json-values.ts";

/** Takes the credentials out of pieces that make up one text. */
export type RedactPieces = (pieces: readonly string[]) => readonly string[];

/**
 * The text of an event stream without the credentials whose parts stand in several events. Strings at the same place of
 * their events are taken for pieces of one text; only events that hold such a part are written anew.
 */
export function redactEvents(stream: string, redactPieces: RedactPieces): string {
  const lines = stream.split("\n");
  const events = new Map<number, JsonValue>();
  const texts = new Map<string, Piece[]>();
  for (const [line, text] of lines.entries()) {
    const value = parseJson(dataLine.exec(text)?.[2]);
    if (value === undefined) continue;
    events.set(line, value);
    collect(value, "", (place, piece) => {
      const pieces = texts.get(place) ?? [];
      pieces.push({ ...piece, line });
      texts.set(place, pieces);
    });
  }
  const changed = new Set<number>();
  for (const pieces of texts.values()) {
    const clean = redactPieces(pieces.map(({ text }) => text));
    for (const [index, piece] of pieces.entries()) {
      if (clean[index] === piece.text) continue;
      piece.write(clean[index] ?? "");
      changed.add(piece.line);
    }
  }
  for (const line of changed) {
    const [, name = "", , end = ""] = dataLine.exec(lines[line] ?? "") ?? [];
    lines[line] = `${name}${JSON.stringify(events.get(line))}${end}`;
  }
  return lines.join("\n");
}

const dataLine = /^(data: ?)(\{.*\})(\s*)$/;

type Piece = { readonly text: string; readonly write: (text: string) => void; readonly line: number };

/** Visits every string below a value, and says where it stands. Parts of a list that are numbered go by their number. */
function collect(
  value: JsonValue,
  place: string,
  visit: (place: string, piece: Omit<Piece, "line">) => void,
): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, `${place}[]`, visit);
  } else if (isJsonObject(value)) {
    const number = value.index ?? value.output_index ?? "";
    for (const [name, field] of Object.entries(value)) {
      const at = `${place}.${number}.${name}`;
      if (typeof field !== "string") collect(field, at, visit);
      else
        visit(at, {
          text: field,
          write: (text) => {
            Object.assign(value, { [name]: text });
          },
        });
    }
  }
}
