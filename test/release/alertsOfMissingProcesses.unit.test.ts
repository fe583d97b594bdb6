import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ALERTS, alertRules, isFiring } from '../support/alertRules.ts';
import { temporaryFolder } from '../support/cli.ts';
import { Metrics } from '../support/metrics.ts';

/** One process for each role. */
const roles = ['api', 'projector', 'webhooks', 'heads', 'mllp', 'warehouse'];
const alerts = ['ChartledgerRoleMissing', 'ChartledgerProcessDown'];
/** Each role in turn, all but each in turn, and all. */
const cases = [
  ...roles.map((role) => [role]),
  ...roles.map((role) => roles.filter((other) => other !== role)),
  roles,
];
const job = 'job="chartledger/chartledger"';

/** What Prometheus has of these processes; one that is gone is still a target, or is none any more. */
function scraped(alive: readonly string[], targets: readonly string[]): Metrics {
  const lines = targets.flatMap((role) =>
    alive.includes(role)
      ? [
          `up{${job},instance="${role}"} 1`,
          `chartledger_role_ready{${job},instance="${role}",chartledger_role="${role}"} 1`,
        ]
      : [`up{${job},instance="${role}"} 0`],
  );
  return new Metrics(`${lines.join('\n')}\n`);
}

function firing(alive: readonly string[], targets: readonly string[]): string[] {
  const [before, now] = [scraped(roles, roles), scraped(alive, targets)];
  return alerts.filter((alert) => isFiring(alert, { all: [before, now], before, now, seconds: 60 }));
}

describe('an alert fires', () => {
  test('for none of the processes while all are there', () => {
    expect(firing(roles, roles)).toEqual([]);
  });

  test.each(cases)('without %s', (...gone) => {
    const alive = roles.filter((role) => !gone.includes(role));
    expect(firing(alive, roles)).toEqual(alerts);
    expect(firing(alive, alive)).toEqual(['ChartledgerRoleMissing']);
  });
});

/** The alerts of a role, as promtool expects them. */
const missing = (role: string) => ({
  exp_labels: { severity: 'page', chartledger_role: role },
  exp_annotations: annotationsOf('ChartledgerRoleMissing', { chartledger_role: role }),
});
const down = (role: string) => ({
  exp_labels: { severity: 'ticket', job: 'chartledger/chartledger', instance: role },
  exp_annotations: annotationsOf('ChartledgerProcessDown', { instance: role }),
});

function annotationsOf(name: string, labels: Record<string, string>): Record<string, string> {
  const { summary = '', runbook_url = '' } =
    alertRules.find(({ alert }) => alert === name)?.annotations ?? {};
  return Object.fromEntries(
    Object.entries({ summary, runbook_url }).map(([key, text]) => [
      key,
      text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? ''),
    ]),
  );
}

const GONE_AT = 30;
const SOON = '31m';
const LATER = '50m';

/** The processes are there for half an hour; then these are gone, and are still targets or not. */
function promtoolTest(gone: readonly string[], areTargets: boolean) {
  const series = roles.flatMap((role) => {
    const isGone = gone.includes(role);
    const instance = `${job},instance="${role}"`;
    const after = isGone ? (areTargets ? '0x60' : '_x60') : '1x60';
    return [
      { series: `up{${instance}}`, values: `1x${GONE_AT} ${isGone && !areTargets ? 'stale ' : ''}${after}` },
      {
        series: `chartledger_role_ready{${instance},chartledger_role="${role}"}`,
        values: `1x${GONE_AT} ${isGone ? 'stale _x60' : '1x60'}`,
      },
    ];
  });
  return {
    name: `${gone.join(' and ')} gone, ${areTargets ? 'still' : 'no longer'} targets`,
    interval: '1m',
    input_series: series,
    alert_rule_test: [
      ...alerts.map((alertname) => ({ eval_time: SOON, alertname, exp_alerts: [] })),
      { eval_time: LATER, alertname: 'ChartledgerRoleMissing', exp_alerts: gone.map(missing) },
      {
        eval_time: LATER,
        alertname: 'ChartledgerProcessDown',
        exp_alerts: areTargets ? gone.map(down) : [],
      },
    ],
  };
}

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
test.skipIf(!hasPromtool)(
  'Prometheus evaluates the rules so, for what is missing in turn and together',
  () => {
    const file = join(temporaryFolder(), 'alerts.test.yaml');
    const tests = [true, false].flatMap((areTargets) =>
      [[], ...cases].map((gone) => promtoolTest(gone, areTargets)),
    );
    writeFileSync(
      file,
      stringify(
        { rule_files: [resolve(ALERTS)], evaluation_interval: '1m', tests },
        { aliasDuplicateObjects: false },
      ),
    );
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
  },
);
