/** Gives whole numbers from 0 to below a bound, as if by chance, and the same in every run. */
export function choices(seed: number): (below: number) => number {
  let last = seed;
  return (below) => {
    last = (last * 48_271) % 2_147_483_647;
    return last % below;
  };
}
