import { errorMessage } from "../contract/errors.ts";
import { writeOutputFile } from "./output-file.ts";

/** Writes the final answer to a file, as it is. Gives what went wrong, in words, or undefined. */
export async function writeLastMessage(file: string, text: string, cwd: string): Promise<string | undefined> {
  try {
    await writeOutputFile(file, text, cwd);
    return undefined;
  } catch (error) {
    return `the last message could not be written to ${file}: ${errorMessage(error)}`;
  }
}
