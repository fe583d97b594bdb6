import type { Readiness } from '../modules/readiness.ts';
import { observed, type SeriesReport } from '../platform/metrics/Series.ts';

/** Returns the system's and `/readyz`'s view of this process. */
export function observeProcess({ stores, roles, findings }: Readiness): SeriesReport[] {
  const cpu = process.cpuUsage();
  return [
    ...Object.entries(stores).map(([store, state]) =>
      observed('chartledger.store.available', { 'chartledger.store': store }, Number(state === 'ok')),
    ),
    ...Object.entries(roles).map(([role, state]) =>
      observed('chartledger.role.ready', { 'chartledger.role': role }, Number(state === 'ready')),
    ),
    ...findings.map(({ code }) => observed('chartledger.warnings', { 'chartledger.code': code }, 1)),
    observed('process.cpu.time', { 'cpu.mode': 'user' }, cpu.user / 1e6),
    observed('process.cpu.time', { 'cpu.mode': 'system' }, cpu.system / 1e6),
    observed('process.memory.usage', {}, process.memoryUsage.rss()),
    observed('process.uptime', {}, process.uptime()),
  ];
}
