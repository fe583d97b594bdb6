import { type AttributesOf, definitionOf, type MetricName, type NameOfKind } from './catalog.ts';

type Attributes = Readonly<Record<string, string | number>>;

/** A thread's report of one of its series: what was added since the last report; for a gauge, its value. */
export interface SeriesReport {
  name: MetricName;
  attributes: Attributes;
  values: number[];
}

/** A value that is read on demand. */
export function observed<Name extends MetricName>(
  name: Name,
  attributes: AttributesOf<Name>,
  value: number,
): SeriesReport {
  return { name, attributes, values: [value] };
}

/**
 * One metric with these attributes. `values` hold its count; for a gauge, its value; for a histogram, how many values
 * fell up to each boundary but not the one before, how many beyond the last, and the sum of all.
 */
class TimeSeries {
  readonly name: MetricName;
  readonly attributes: Attributes;
  readonly values: number[];
  readonly #boundaries: readonly number[];
  readonly #onChange: () => void;
  #isChanged = false;

  /** `onChange` is called at the first change after each report. */
  constructor(name: MetricName, attributes: Attributes, onChange: () => void) {
    const { boundaries = [], kind } = definitionOf(name);
    this.name = name;
    this.attributes = attributes;
    this.values = new Array(kind === 'histogram' ? boundaries.length + 2 : 1).fill(0);
    this.#boundaries = boundaries;
    this.#onChange = onChange;
  }

  /** Adds to a counter, or a gauge. */
  add(amount = 1): void {
    this.values[0] = (this.values[0] as number) + amount;
    this.#changed();
  }

  /** Sets a gauge. */
  set(value: number): void {
    this.values[0] = value;
    this.#changed();
  }

  /** Records a value in a histogram. */
  observe(value: number): void {
    const { values } = this;
    const boundaries = this.#boundaries;
    let bucket = 0;
    while (bucket < boundaries.length && value > (boundaries[bucket] as number)) bucket += 1;
    const sum = values.length - 1;
    values[bucket] = (values[bucket] as number) + 1;
    values[sum] = (values[sum] as number) + value;
    this.#changed();
  }

  /** Adds what another thread reports of it. */
  merge(values: readonly number[]): void {
    for (const [index, value] of values.entries())
      this.values[index] = (this.values[index] as number) + value;
  }

  /** Returns what changed since the last report; undefined when nothing did. */
  collectReport(): SeriesReport | undefined {
    if (!this.#isChanged) return undefined;
    this.#isChanged = false;
    const { name, attributes } = this;
    const values = [...this.values];
    if (definitionOf(name).kind !== 'gauge') this.values.fill(0);
    return { name, attributes, values };
  }

  #changed(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    this.#onChange();
  }
}

/** A thread's report of its measurements. */
export interface MeasurementsReport {
  /** Its number among all threads that the process has ever had. */
  thread: number;
  series: SeriesReport[];
}

/** The measurements of a thread, and in the first thread also what the others report to it. */
export class MetricsRegistry {
  readonly #series = new Map<string, TimeSeries>();
  /** Gauges of other threads, by thread. */
  readonly #gauges = new Map<number, Map<string, SeriesReport>>();
  #onChange: () => void = () => undefined;

  /** Returns the counter with these attributes: callers that count often should keep it. */
  counter<Name extends NameOfKind<'counter'>>(
    name: Name,
    attributes: AttributesOf<Name>,
  ): Pick<TimeSeries, 'add'> {
    return this.#of(name, attributes);
  }

  gauge<Name extends NameOfKind<'gauge'>>(
    name: Name,
    attributes: AttributesOf<Name>,
  ): Pick<TimeSeries, 'add' | 'set'> {
    return this.#of(name, attributes);
  }

  histogram<Name extends NameOfKind<'histogram'>>(
    name: Name,
    attributes: AttributesOf<Name>,
  ): Pick<TimeSeries, 'observe'> {
    return this.#of(name, attributes);
  }

  /**
   * Requests change notifications: `onChange` is called when there are changes that `collectReport` has not returned
   * yet.
   */
  notifyOnChange(onChange: () => void): void {
    this.#onChange = onChange;
    if (this.#series.size > 0) onChange();
  }

  /** Returns what changed since the last report. */
  collectReport(): SeriesReport[] {
    return [...this.#series.values()].flatMap((series) => series.collectReport() ?? []);
  }

  /** Adds what another thread reports. */
  merge({ thread, series }: MeasurementsReport): void {
    for (const report of series) {
      const { name, attributes, values } = report;
      if (definitionOf(name).kind !== 'gauge') {
        this.#of(name, attributes).merge(values);
        continue;
      }
      const gauges = this.#gauges.get(thread) ?? new Map();
      this.#gauges.set(thread, gauges.set(keyOf(name, attributes), report));
    }
  }

  /** To be called when a thread has ended: what it counted stays, and its gauges are dropped. */
  forget(thread: number): void {
    this.#gauges.delete(thread);
  }

  /** Returns everything as of now, with the gauges of all threads added up. */
  all(): SeriesReport[] {
    const all = new Map<string, SeriesReport>();
    for (const [key, { name, attributes, values }] of this.#series)
      all.set(key, { name, attributes, values });
    for (const gauges of this.#gauges.values()) {
      for (const [key, gauge] of gauges) {
        const values = [(all.get(key)?.values[0] ?? 0) + (gauge.values[0] as number)];
        all.set(key, { ...gauge, values });
      }
    }
    return [...all.values()];
  }

  #of(name: MetricName, attributes: Attributes): TimeSeries {
    const key = keyOf(name, attributes);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = new TimeSeries(name, attributes, () => this.#onChange());
      this.#series.set(key, series);
    }
    return series;
  }
}

function keyOf(name: MetricName, attributes: Attributes): string {
  let key: string = name;
  for (const attribute in definitionOf(name).attributes) key += `\n${attributes[attribute]}`;
  return key;
}

/** The measurements of this thread. */
export const measurements = new MetricsRegistry();

/** Returns the Prometheus name of a metric. */
export function prometheusName(name: MetricName): string {
  const plain = name.replaceAll('.', '_');
  return definitionOf(name).kind === 'counter' ? `${plain}_total` : plain;
}
