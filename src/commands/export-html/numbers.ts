/** `1,234` */
export function count(value: number): string {
  return whole.format(value);
}

/** `1.2k`, for places without room. */
export function shortCount(value: number): string {
  return compact.format(value);
}

/** `$1.23`, with as many digits as a small sum needs. */
export function dollars(value: number): string {
  if (value === 0) return "$0";
  return `$${value >= 1 ? value.toFixed(2) : twoDigits.format(value)}`;
}

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const twoDigits = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 2 });

/** `2024-01-01 10:00:00`, in UTC; what is no time stays as it is. */
export function clock(timestamp: string): string {
  const ms = Date.parse(timestamp);
  return Number.isNaN(ms) ? timestamp : new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}
