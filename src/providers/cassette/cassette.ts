import { appendFileSync, closeSync, fchmodSync, fstatSync } from "node:fs";
import {
  errorMessage,
  PersistenceError,
  ProviderError,
  type ProviderErrorKind,
  StartupError,
} from "../../contract/errors.ts";
import { openToWrite, readFileOrPipe } from "../../contract/named-pipe.ts";
import type { Model } from "../../contract/provider.ts";
import type { ProviderFetch } from "../adapter.ts";
import { cleanUrl } from "../http/address.ts";
import { type ReplyBody, toReplyBody, toResponse } from "../http/reply.ts";
import { createPieceRedactor, createRedactor } from "../redact.ts";
import {
  parseCassette,
  type RecordedChunk,
  type RecordedExchange,
  type RecordedFailure,
} from "./cassette-file.ts";
import { openExchange, type Redaction, toRecordedBody, toRecordedFailure } from "./recorded-exchange.ts";

/** Keeps what a fetch does. */
export type Recorder = {
  /** The fetch to use instead: it does the same. */
  readonly fetch: ProviderFetch;
  /** Strips these credentials, too, from whatever is written from now on. */
  strip(secrets: readonly string[]): void;
  /** Writes what is still open. Throws a PersistenceError when anything could not be written. */
  close(): Promise<void>;
};

/**
 * Records every exchange of a fetch in a file that only its owner can read, replacing what was there: one line when its
 * reply was read, so that a run that is killed keeps the whole ones. The credentials are stripped. Goes around the bare
 * fetch, below the status check, so that failed replies are kept too. Throws a StartupError when the file cannot be made.
 */
export async function createRecorder(
  fetch: ProviderFetch,
  options: { readonly path: string; readonly model: Model; readonly secrets: readonly string[] },
): Promise<Recorder> {
  const { path, model } = options;
  const secrets = [...options.secrets];
  let redactor = createRedactor(secrets);
  let pieceRedactor = createPieceRedactor(secrets);
  const redact = (text: string) => redactor(text);
  const redaction: Redaction = { redact, redactPieces: (pieces) => pieceRedactor(pieces) };
  const file = createRecording(path);
  let failed: unknown;
  const write = (line: unknown) => {
    try {
      if (failed === undefined) appendFileSync(file, `${redact(JSON.stringify(line))}\n`);
    } catch (error) {
      failed = error;
    }
  };
  write({ type: "cassette", version: 1, model: { ...model, baseUrl: cleanUrl(model.baseUrl), headers: {} } });
  const open = new Set<() => void>();
  return {
    fetch: async (input, init = {}) => {
      const request = {
        method: init.method?.toUpperCase() ?? "GET",
        url: cleanUrl(toAddress(input)),
        ...toRecordedBody(init.body),
      };
      const exchange = openExchange(request, redaction, (line) => {
        open.delete(exchange.finish);
        write(line);
      });
      open.add(exchange.finish);
      try {
        return exchange.watch(await fetch(input, init));
      } catch (thrown) {
        exchange.finish(toRecordedFailure(thrown));
        throw thrown;
      }
    },
    strip(more) {
      secrets.push(...more);
      redactor = createRedactor(secrets);
      pieceRedactor = createPieceRedactor(secrets);
    },
    async close() {
      for (const finish of open) finish();
      closeSync(file);
      if (failed === undefined) return;
      throw new PersistenceError(`cannot write the recording ${path}: ${errorMessage(failed)}`);
    },
  };
}

function createRecording(path: string): number {
  try {
    const file = openToWrite(path, 0o600);
    // A file that was there before keeps its mode; a device is not ours to change.
    if (fstatSync(file).isFile()) fchmodSync(file, 0o600);
    return file;
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const why = missing ? "its folder does not exist; create it first" : errorMessage(error);
    throw new StartupError(`cannot create the recording ${path}: ${why}`);
  }
}

function toAddress(input: string | URL | Request): string {
  return typeof input === "object" && "url" in input ? input.url : String(input);
}

/**
 * Opens a recording: the model it was made with, and a fetch that answers requests from it, in order, chunk by chunk,
 * failures included, with no network. The fetch throws a ProviderError `invalid_request` for a request that the
 * recording has no answer for. Throws a StartupError when the file cannot be read or is no recording. The signal ends the
 * wait for a pipe.
 */
export async function openCassette(
  path: string,
  signal?: AbortSignal,
): Promise<{ model: Model; fetch: ProviderFetch }> {
  const bytes = await readFileOrPipe(path, signal).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "there is no such file" : (error.code ?? error.message);
    throw new StartupError(`cannot read the recording ${path}: ${why}`);
  });
  const { model, exchanges } = parseCassette(bytes.toString("utf8"), path);
  let played = 0;
  return {
    model,
    fetch: async (input, init = {}) => {
      init.signal?.throwIfAborted();
      const url = toAddress(input);
      played += 1;
      const request = { number: played, method: init.method?.toUpperCase() ?? "GET", url };
      return replay(findAnswer(exchanges, request, path), url, init.signal ?? undefined);
    },
  };
}

type ReplayedRequest = { readonly number: number; readonly method: string; readonly url: string };

function findAnswer(
  exchanges: readonly RecordedExchange[],
  request: ReplayedRequest,
  path: string,
): RecordedExchange {
  const asked = `${request.method} ${new URL(request.url).pathname}`;
  const exchange = exchanges[request.number - 1];
  if (exchange === undefined)
    throw noAnswer(path, request.number, `it holds ${exchanges.length}; this is ${asked}`);
  const recorded = `${exchange.request.method.toUpperCase()} ${new URL(exchange.request.url).pathname}`;
  if (recorded !== asked) throw noAnswer(path, request.number, `it has ${recorded} there, not ${asked}`);
  return exchange;
}

function noAnswer(path: string, number: number, why: string): ProviderError {
  return new ProviderError(
    "invalid_request",
    `the recording ${path} has no answer for request ${number}: ${why}`,
    { transient: false },
  );
}

function replay({ response, failure }: RecordedExchange, url: string, signal?: AbortSignal): Response {
  if (response === undefined) throw toFailure(failure ?? { message: "nothing was recorded" });
  return toResponse({
    status: response.status,
    statusText: response.statusText ?? "",
    url,
    headers: new Map(Object.entries(response.headers)),
    body: playBody(response.chunks, failure, signal),
  });
}

function playBody(
  chunks: readonly RecordedChunk[],
  failure: RecordedFailure | undefined,
  signal: AbortSignal | undefined,
): ReplyBody {
  async function* play(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) {
      // As from a socket: whatever else is due (a signal, a slow reader) gets its turn between two chunks.
      await new Promise(setImmediate);
      signal?.throwIfAborted();
      yield typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk.base64, "base64");
    }
    if (failure !== undefined) throw toFailure(failure);
  }
  return toReplyBody(play());
}

const failureKinds: ReadonlySet<string> = new Set<ProviderErrorKind>([
  "network",
  "timeout",
  "protocol",
  "invalid_request",
]);

function isFailureKind(kind: string | undefined): kind is ProviderErrorKind {
  return kind !== undefined && failureKinds.has(kind);
}

function toFailure({ kind, code, message, transient }: RecordedFailure): ProviderError {
  return new ProviderError(isFailureKind(kind) ? kind : "network", message, {
    ...(code !== undefined && { code }),
    ...(transient !== undefined && { transient }),
  });
}
