import { auditActionsPage } from './auditActionsPage.ts';
import { clientTypes } from './clientTypes.ts';
import { cliPage } from './cliPage.ts';
import { endpointsPage } from './endpointsPage.ts';
import { errorsPage } from './errorsPage.ts';
import { eventsPage } from './eventsPage.ts';
import { grafanaDashboard } from './grafanaDashboard.ts';
import { limitsPage } from './limitsPage.ts';
import { mcpToolsPage } from './mcpToolsPage.ts';
import { metricsPage } from './metricsPage.ts';
import { pythonBlockingClient } from './pythonBlockingClient.ts';
import { pythonTypes } from './pythonTypes.ts';
import { readinessPage } from './readinessPage.ts';
import { recordsPage } from './recordsPage.ts';
import { envExample, settingsPage } from './settingsPage.ts';
import { warningsPage } from './warningsPage.ts';

/**
 * Every file that is generated from the code's own tables, by its path from the root, with the function that returns
 * its text.
 */
export const pages: Record<string, () => string | Promise<string>> = {
  '.env.example': envExample,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/endpoints.md': endpointsPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/warnings.md': warningsPage,
  'docs/reference/limits.md': limitsPage,
  'docs/reference/cli.md': cliPage,
  'docs/reference/mcp-tools.md': mcpToolsPage,
  'docs/reference/records.md': recordsPage,
  'docs/reference/events.md': eventsPage,
  'docs/reference/metrics.md': metricsPage,
  'ops/grafana/chartledger.json': grafanaDashboard,
  'docs/reference/audit-actions.md': auditActionsPage,
  'docs/reference/readiness-rules.md': readinessPage,
  'clients/typescript/src/generated/api.ts': clientTypes,
  'clients/python/src/chartledger_client/types.py': pythonTypes,
  ...pythonBlockingClient,
};
