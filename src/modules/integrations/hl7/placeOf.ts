/** Where a field is. */
export interface Place {
  /** Name of the segment. */
  segment: string;
  field: number;
}

/** Returns what a name such as `PV1-19` stands for. */
export function placeOf(name: string): Place {
  const [segment = '', field] = name.split('-');
  return { segment, field: Number(field) };
}
