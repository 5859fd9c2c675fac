import { errorMessage, ProviderError } from "../../contract/errors.ts";

/**
 * The ProviderError for a connection that could not be made or broke, or undefined when the thrown value is no such
 * thing.
 *
 * @param place Who was asked, in the words of the message: a host, or a provider's name.
 */
export function toNetworkError(thrown: unknown, place: string): ProviderError | undefined {
  const failure = findFailure(thrown);
  const row = rows.find(([pattern]) => failure !== undefined && pattern.test(failure.code));
  if (failure === undefined || row === undefined) return undefined;
  const [, kind, words, transient] = row;
  const at = failure.host === undefined || failure.host === place ? place : `${place} (${failure.host})`;
  return new ProviderError(kind, words(at, failure), { code: failure.code, transient, cause: thrown });
}

type Failure = { readonly code: string; readonly message: string; readonly host?: string };
type Row = readonly [RegExp, "network" | "protocol", (at: string, failure: Failure) => string, boolean];

const rows: readonly Row[] = [
  [
    /^ECONNREFUSED$/,
    "network",
    (at) => `cannot connect to ${at}: connection refused; is the server running?`,
    true,
  ],
  [
    /^(?:ENOTFOUND|EAI_\w+|ENODATA)$/,
    "network",
    (at, { code }) => `cannot connect to ${at}: no such host (${code}); check the base URL and the network`,
    true,
  ],
  [
    /CERT|^UNABLE_TO_|^ERR_TLS|^HOSTNAME_MISMATCH$/,
    "network",
    (at, { code, message }) =>
      `cannot connect to ${at}: its certificate is not trusted (${code}: ${message})`,
    false,
  ],
  [
    /^(?:EPROTO|ERR_SSL\w*)$/,
    "network",
    (at, { code }) => `cannot connect to ${at}: it does not speak TLS (${code}); check the base URL's scheme`,
    false,
  ],
  [
    /^(?:ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|ERR_STREAM_PREMATURE_CLOSE)$/,
    "network",
    (at, { code }) => `the connection to ${at} broke (${code})`,
    true,
  ],
  [
    /^(?:ETIMEDOUT|ESOCKETTIMEDOUT|UND_ERR_CONNECT_TIMEOUT|UND_ERR_\w*TIMEOUT)$/,
    "network",
    (at, { code }) => `cannot connect to ${at}: no answer (${code})`,
    true,
  ],
  [
    /^(?:HPE_\w+)$/,
    "protocol",
    (at, { code }) => `the reply of ${at} is not HTTP (${code}); check the base URL`,
    true,
  ],
  [
    /^(?:Z_\w+|ERR_BROTLI\w*|ERR_PADDING_\d|ERR__ERROR_\w+)$/,
    "protocol",
    (at, { code }) => `the reply of ${at} could not be decompressed (${code})`,
    true,
  ],
  [
    /^(?:E[A-Z]{3,}|UND_ERR_\w+)$/,
    "network",
    (at, { code, message }) => `the connection to ${at} failed (${code}: ${message})`,
    true,
  ],
];

/** The first error with a code in the chain of causes and of joined attempts. */
function findFailure(thrown: unknown, depth = 0): Failure | undefined {
  if (!(thrown instanceof Error) || depth > 5) return undefined;
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
  if (code !== undefined) {
    const host = failureHost(thrown);
    return { code, message: errorMessage(thrown), ...(host !== undefined && { host }) };
  }
  const inner = thrown instanceof AggregateError ? thrown.errors[0] : undefined;
  return findFailure(inner ?? thrown.cause, depth + 1);
}

function failureHost(error: object): string | undefined {
  if ("hostname" in error && typeof error.hostname === "string") return error.hostname;
  if (!("address" in error) || typeof error.address !== "string") return undefined;
  const port = "port" in error && typeof error.port === "number" ? `:${error.port}` : "";
  return error.address + port;
}
