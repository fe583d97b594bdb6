import { isJsonObject } from '../../../../domain/events/event.ts';

interface Place {
  at: string;
  value: unknown;
}

/**
 * Returns where a resource states a value, as a FHIRPath with array indexes: the first place below the element that
 * states exactly that; otherwise the element itself, as far as there is only one of it.
 */
export function placeIn(resource: unknown, path: string, value: unknown): string {
  const [type = '', ...steps] = path.split('.');
  let found: Place[] = eachOf({ at: type, value: resource });
  for (const step of steps) {
    found = found.flatMap((one) => (isJsonObject(one.value) ? eachOf(stepInto(one, one.value, step)) : []));
  }
  const said = found.flatMap(leavesOf).find((leaf) => leaf.value === value);
  if (said) return said.at;
  const [only, another] = found;
  return only && another === undefined ? only.at : path;
}

function stepInto({ at }: Place, parent: Record<string, unknown>, step: string): Place {
  return { at: `${at}.${step}`, value: Object.hasOwn(parent, step) ? parent[step] : undefined };
}

/** Returns the elements of a place that is an array. */
function eachOf({ at, value }: Place): Place[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [{ at, value }];
  return value.map((one, index) => ({ at: `${at}[${index}]`, value: one }));
}

/** Returns the texts, numbers and booleans at and below a place. */
function leavesOf(place: Place): Place[] {
  const leaves: Place[] = [];
  const open = [place];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const { value } = one;
    if (isJsonObject(value)) {
      const inside = one;
      open.push(
        ...Object.keys(value)
          .flatMap((step) => eachOf(stepInto(inside, value, step)))
          .toReversed(),
      );
    } else leaves.push(one);
  }
  return leaves;
}
