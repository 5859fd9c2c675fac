/** A URL without user, password and the query values that are credentials. */
export function cleanUrl(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  const secret = secretQueryNames(url);
  if (secret.length === 0 && url.username === "" && url.password === "") return address;
  url.username = "";
  url.password = "";
  for (const name of secret) url.searchParams.set(name, "redacted");
  return url.href;
}

/** The credentials that stand in a URL: its password, also as Basic authorization has it, and values of its query. */
export function addressSecrets(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const url = new URL(address);
  const values = secretQueryNames(url).flatMap((name) => [
    ...url.searchParams.getAll(name),
    // As they stand there: servers quote the address that they were asked for.
    ...rawQueryValues(url, name),
  ]);
  const { username, password } = url;
  const login =
    password === ""
      ? []
      : [`${decodePart(username)}:${decodePart(password)}`, decodePart(password), password];
  return [...new Set([...login, ...values])].filter((secret) => secret !== "");
}

const secretNames = /key|token|secret|password|signature|^sig$|auth|credential/i;

function secretQueryNames({ searchParams }: URL): string[] {
  return [...new Set(searchParams.keys())].filter((name) => secretNames.test(name));
}

function rawQueryValues({ search }: URL, name: string): string[] {
  const pairs = search.slice(1).split("&");
  return pairs.flatMap((pair) => (pair.startsWith(`${name}=`) ? [pair.slice(name.length + 1)] : []));
}

/** Undoes the escapes of a part of a URL. One that was not escaped may hold a `%` that stands for itself. */
export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
