/** Returns the order for a number, so that pages begin with the highest. */
export function newestFirst(number: number): number {
  return Number.MAX_SAFE_INTEGER - number;
}
