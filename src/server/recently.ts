/** Returns `work` with its result cached for that long: calls in the meantime share it, also while it is pending. */
export function recently<Result>(ms: number, work: () => Promise<Result>): () => Promise<Result> {
  let last: { result: Promise<Result>; until: number } | undefined;
  return () => {
    if (last === undefined || performance.now() > last.until) {
      const made = { result: work(), until: Number.POSITIVE_INFINITY };
      const settled = () => {
        made.until = performance.now() + ms;
      };
      made.result.then(settled, settled);
      last = made;
    }
    return last.result;
  };
}
