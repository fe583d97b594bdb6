/** A figure of several rounds. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** Returns the value below which a share (0 to 1) of the sorted values lies. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

export function spread(values: number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Returns ratios within each round, so that what slows the whole machine for a while slows both sides. */
export function ratios(values: number[], to: number[]): Spread {
  return spread(values.map((value, round) => value / (to[round] as number)));
}
