/** Takes the chunks of a pipe. */
export type MarkerScanner = (chunk: Uint8Array) => void;

/**
 * Makes a scanner that hands on what comes before a marker, wherever the chunks cut it, and drops what comes behind.
 * What it hands on is only valid during the call.
 */
export function createMarkerScanner(
  marker: Buffer,
  onBytes: (bytes: Uint8Array) => void,
  onMarker: () => void,
): MarkerScanner {
  let held = Buffer.alloc(0);
  let isOver = false;
  return (chunk) => {
    if (isOver) return;
    const bytes = Buffer.concat([held, chunk]);
    const at = bytes.indexOf(marker);
    const end = at === -1 ? bytes.length - overlap(bytes, marker) : at;
    if (end > 0) onBytes(bytes.subarray(0, end));
    held = Buffer.from(bytes.subarray(end));
    if (at === -1) return;
    isOver = true;
    onMarker();
  };
}

/** The length of the longest end of the bytes that the marker begins with. */
function overlap(bytes: Buffer, marker: Buffer): number {
  let length = Math.min(bytes.length, marker.length - 1);
  while (length > 0 && !bytes.subarray(-length).equals(marker.subarray(0, length))) length -= 1;
  return length;
}
