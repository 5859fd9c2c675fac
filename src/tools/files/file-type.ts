import { isUtf8 } from "node:buffer";
import { findByteOrderMark } from "./text-file.ts";

/** The mime type of an image that models can see, told from its first bytes. */
export function imageType(head: Buffer): string | undefined {
  if (starts(head, "89504e470d0a1a0a")) return "image/png";
  if (starts(head, "ffd8ff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(ascii(head, 0, 6))) return "image/gif";
  if (ascii(head, 0, 4) === "RIFF" && ascii(head, 8, 12) === "WEBP") return "image/webp";
  return undefined;
}

/** What kind of binary file some first bytes belong to; undefined for text. */
export function binaryType(head: Buffer): string | undefined {
  const type = signatures.find(([signature]) => starts(head, signature))?.[1];
  if (findByteOrderMark(head) !== undefined) return undefined;
  if (head.includes(0)) return type ?? "unknown type";
  return isUtf8(head) ? undefined : type;
}

/** Hexadecimal first bytes of formats that a model may come across. */
const signatures: readonly (readonly [signature: string, type: string])[] = [
  ["255044462d", "PDF document"],
  ["504b0304", "ZIP archive or Office document"],
  ["1f8b", "gzip archive"],
  ["425a68", "bzip2 archive"],
  ["fd377a585a00", "xz archive"],
  ["28b52ffd", "zstd archive"],
  ["377abcaf271c", "7z archive"],
  ["7f454c46", "ELF program or library"],
  ["cffaedfe", "Mach-O program or library"],
  ["cafebabe", "Java class or Mach-O program"],
  ["4d5a90", "Windows program or library"],
  ["0061736d", "WebAssembly module"],
  ["53514c69746520666f726d6174203300", "SQLite database"],
  ["00000100", "icon"],
  ["49492a00", "TIFF image"],
  ["4d4d002a", "TIFF image"],
  ["4f676753", "Ogg audio or video"],
  ["494433", "MP3 audio"],
  ["1a45dfa3", "Matroska video"],
];

function starts(head: Buffer, signature: string): boolean {
  return head.toString("hex", 0, Math.ceil(signature.length / 2)).startsWith(signature);
}

function ascii(head: Buffer, start: number, end: number): string {
  return head.toString("latin1", start, end);
}
