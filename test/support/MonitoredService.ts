import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, type TestContext } from 'vitest';
import { isFiring } from './alertRules.ts';
import { type CliResult, spawnCli, temporaryFolder } from './cli.ts';
import { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { freePort } from './freePort.ts';
import { Metrics } from './metrics.ts';
import { runbookCommands } from './runbook.ts';
import { readinessAt } from './service.ts';
import { ServiceProcess } from './serviceProcess.ts';

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
        NODE_OPTIONS: `--import=${pathToFileURL(resolve('test/support/steppedClock.ts'))}`,
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
    const key = /x-api-key: (clk_\w+)/.exec(this.#process.stdout)?.[1] ?? this.client.key;
    this.client = new Client(url, key);
  }

  /** What rates are told of begins now. */
  async mark(): Promise<void> {
    this.#before = { metrics: await Metrics.read(this.#metrics), at: performance.now() };
  }

  /** Those of these alerts whose expressions hold, by what was exported since the mark. */
  async firing(...alerts: string[]): Promise<string[]> {
    const now = await Metrics.read(this.#metrics);
    const { metrics: before, at } = this.#before ?? { metrics: now, at: performance.now() };
    const seconds = Math.max(1, (performance.now() - at) / 1_000);
    return alerts.filter((alert) => isFiring(alert, { before, now, seconds }));
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
      expect(await Promise.all(commands.map((words) => this.cli(...words)))).toMatchObject(expected);
    }, SOON_MS);
  }

  /** Runs the one of the commands by which the runbook mends what an alert tells that begins so. */
  async mend(alert: string, command: string, values: Record<string, string> = {}): Promise<void> {
    const words = runbookCommands(alert, 'Fix').find((one) => one.join(' ').startsWith(command));
    if (words === undefined) throw new Error(`the runbook does not mend ${alert} by ${command}`);
    const { code, stderr } = await this.cli(...words.map((word) => values[word] ?? word));
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' });
  }

  cli(...args: string[]): Promise<CliResult> {
    return spawnCli(args, { env: this.#env });
  }
}
