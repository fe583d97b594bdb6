import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, type TestContext } from 'vitest';
import { isFiring } from './alertRules.ts';
import { type CliResult, runCli, spawnCli, temporaryFolder } from './cli.ts';
import { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { runbookCommands } from './lint.ts';
import { ServiceProcess } from './processes.ts';
import { freePort } from './servers.ts';
import { readinessAt } from './service.ts';

export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** What a service exports, as Prometheus reads it. */
export class Metrics {
  readonly text: string;
  readonly #samples: (Sample & { name: string })[];

  constructor(text: string) {
    this.text = text;
    this.#samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels, value]) => ({
      name: name as string,
      labels: Object.fromEntries(
        [...(labels ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, of]) => [label, of]),
      ),
      value: Number(value),
    }));
  }

  /** As Prometheus has them of a target, with its job and whether it answered. */
  static async scrape(url: string): Promise<Metrics> {
    const target = 'job="chartledger",instance="a"';
    const answer = await Metrics.read(url).catch(() => undefined);
    const lines = (answer?.text ?? '').replaceAll(
      /^(\w+)(?:\{(.*)\})? /gm,
      (_, name: string, labels?: string) => `${name}{${[labels, target].filter(Boolean).join()}} `,
    );
    return new Metrics(`${lines}\nup{${target}} ${Number(answer !== undefined)}\n`);
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

/** What was counted is told a second later, and a scrape may be as old. */
const SOON_MS = 30_000;

/**
 * A service that is operated: scraped at `METRICS_PORT`, with the alerts of `ops/alerts.yaml`, mended by the commands of the runbook. Its clock
 * can be set ahead.
 */
export class MonitoredService {
  readonly #env: Record<string, string>;
  readonly #metrics: string;
  readonly #clock: string;
  #process: ServiceProcess;
  #before: { metrics: Metrics; at: number } | undefined;
  #scrapes: Metrics[] = [];
  client: Client;

  private constructor(env: Record<string, string>, clock: string) {
    this.#env = env;
    this.#clock = clock;
    this.#metrics = `http://127.0.0.1:${env.METRICS_PORT}/metrics`;
    this.#process = new ServiceProcess(env);
    this.client = new Client('', undefined);
  }

  /** Starts one in an empty folder, with these settings beside, until the test is finished. */
  static async start(
    { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
    env: Record<string, string> = {},
  ): Promise<MonitoredService> {
    const clock = join(temporaryFolder(), 'clock');
    writeFileSync(clock, '0');
    const service = new MonitoredService(
      {
        DATA_DIR: temporaryFolder(),
        METRICS_PORT: String(await freePort()),
        RATE_LIMIT_PER_MINUTE: '0',
        STEPPED_CLOCK: clock,
        NODE_OPTIONS: `--import=${pathToFileURL(resolve('test/support/processes/steppedClock.ts'))}`,
        ...env,
      },
      clock,
    );
    onTestFinished(() => service.stop());
    await service.#listening();
    return service;
  }

  /** What `/readyz` tells operators. */
  readiness() {
    return readinessAt(this.#metrics);
  }

  get dataDir(): string {
    return this.#env.DATA_DIR as string;
  }

  get log(): string {
    return this.#process.stdout;
  }

  /** Ends the process and starts another one with the same settings and what is given beside. */
  async restart(env: Record<string, string> = {}): Promise<void> {
    await this.stop();
    Object.assign(this.#env, env);
    this.#process = new ServiceProcess(this.#env);
    await this.#listening();
  }

  async stop(): Promise<void> {
    await this.#process.end();
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.child.kill(signal);
  }

  setAhead(ms: number): void {
    writeFileSync(this.#clock, String(ms));
  }

  async #listening(): Promise<void> {
    const url = await this.#process.url();
    const key = /x-api-key: (clk_\w+)/.exec(this.#process.stderr)?.[1] ?? this.client.key;
    this.client = new Client(url, key);
  }

  /** What rates are told of begins now. */
  async mark(): Promise<void> {
    this.#scrapes = [];
    this.#before = { metrics: await this.#scrape(), at: performance.now() };
  }

  async #scrape(): Promise<Metrics> {
    const metrics = await Metrics.scrape(this.#metrics);
    this.#scrapes.push(metrics);
    return metrics;
  }

  /** Those of these alerts whose expressions hold, by what was exported since the mark. */
  async firing(...alerts: string[]): Promise<string[]> {
    const now = await this.#scrape();
    const { metrics: before, at } = this.#before ?? { metrics: now, at: performance.now() };
    const seconds = Math.max(1, (performance.now() - at) / 1_000);
    return alerts.filter((alert) => isFiring(alert, { all: this.#scrapes, before, now, seconds }));
  }

  async expectFiring(...alerts: string[]): Promise<void> {
    await eventually(async () => expect(await this.firing(...alerts)).toEqual(alerts), SOON_MS);
  }

  /** Waits until none of these alerts fires; with `work`, which sends requests, by what was counted since it began. */
  async expectQuiet(alerts: string[], work?: () => Promise<unknown>): Promise<void> {
    await eventually(async () => {
      if (work) {
        await this.mark();
        await work();
        await this.#counted();
      }
      expect(await this.firing(...alerts)).toEqual([]);
    }, SOON_MS);
  }

  /** Until requests since the mark are told of. */
  async #counted(): Promise<void> {
    const requests = (metrics?: Metrics) => metrics?.value('http_server_request_duration_count') ?? 0;
    const before = requests(this.#before?.metrics);
    await eventually(
      async () => expect(requests(await Metrics.read(this.#metrics))).toBeGreaterThan(before),
      SOON_MS,
    );
  }

  /**
   * Runs the commands that the runbook names for a look at what an alert tells, with these values in the place of `wh_…` and the like, until they
   * tell what is expected: what they read may lag.
   */
  async look(alert: string, expected: object[], values: Record<string, string> = {}): Promise<void> {
    const commands = runbookCommands(alert, 'Look').map((words) => words.map((word) => values[word] ?? word));
    await eventually(async () => {
      const found = commands.map((words) => runCli(words, { env: this.#env }));
      expect(await Promise.all(found)).toMatchObject(expected);
    }, SOON_MS);
  }

  /** Runs the one of the commands by which the runbook mends what an alert tells that begins so. */
  async mend(alert: string, command: string, values: Record<string, string> = {}): Promise<void> {
    const words = runbookCommands(alert, 'Fix').find((one) => one.join(' ').startsWith(command));
    if (words === undefined) throw new Error(`the runbook does not mend ${alert} by ${command}`);
    const { code, stderr } = await this.cli(...words.map((word) => values[word] ?? word));
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' });
  }

  /** Runs a command by the service's clock. */
  cli(...args: string[]): Promise<CliResult> {
    return spawnCli(args, { env: this.#env });
  }
}
