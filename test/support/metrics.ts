export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** What a service exports, as Prometheus reads it. */
export class Metrics {
  readonly text: string;
  readonly #samples: (Sample & { name: string })[];

  private constructor(text: string) {
    this.text = text;
    this.#samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels, value]) => ({
      name: name as string,
      labels: Object.fromEntries(
        [...(labels ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, of]) => [label, of]),
      ),
      value: Number(value),
    }));
  }

  /** Fetches them from where they are served. */
  static async read(url: string | undefined): Promise<Metrics> {
    if (url === undefined) throw new Error('the service does not serve metrics');
    const response = await fetch(url);
    if (response.status !== 200) throw new Error(`metrics were answered with ${response.status}`);
    return new Metrics(await response.text());
  }

  /** The sum of a metric's values that have these labels; undefined when there are none. */
  value(name: string, labels: Record<string, string> = {}): number | undefined {
    const found = this.#samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }

  /** The samples of a metric whose labels match these. */
  select(name: string, matchers: Record<string, RegExp> = {}): Sample[] {
    return this.#samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(matchers).every(([label, matcher]) => matcher.test(sample.labels[label] ?? '')),
    );
  }

  /** Every label of every sample, as `label="value"`. */
  get labels(): Set<string> {
    return new Set(
      this.#samples.flatMap(({ labels }) =>
        Object.entries(labels).map(([label, value]) => `${label}="${value}"`),
      ),
    );
  }

  /** Every name, without what histograms add to theirs. */
  get names(): Set<string> {
    return new Set([...this.text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name as string));
  }
}
