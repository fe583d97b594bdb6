import type { StateStore } from '../../ports/stateStore.ts';
import type { WebhookDirectory } from '../../webhooks/WebhookDirectory.ts';
import type { AppPorts } from '../routes/index.ts';
import { accountRoutes } from './pages/account.ts';
import { auditRoutes } from './pages/audit.ts';
import { homeRoutes } from './pages/home.ts';
import { invitationRoutes } from './pages/invitation.ts';
import { keysRoutes } from './pages/keys.ts';
import { type OpenIdConnectPagePorts, openIdConnectRoutes } from './pages/openIdConnect.ts';
import { overviewRoutes } from './pages/overview.ts';
import { recordsRoutes } from './pages/records.ts';
import { referenceRoutes } from './pages/reference.ts';
import { secondStepRoutes } from './pages/secondStep.ts';
import { setupRoutes } from './pages/setup.ts';
import { signInRoutes } from './pages/signIn.ts';
import { type TwoFactorPagePorts, twoFactorRoutes } from './pages/twoFactor.ts';
import { usersRoutes } from './pages/users.ts';
import { webhooksRoutes } from './pages/webhooks.ts';
import { workspacesRoutes } from './pages/workspaces.ts';
import type { RequestLimit } from './requestLimit.ts';
import type { DashboardRoute } from './route.ts';

export interface DashboardPorts extends AppPorts, OpenIdConnectPagePorts, TwoFactorPagePorts {
  webhookDirectory: WebhookDirectory;
  stateStore: StateStore;
  /** Whether the description of the interface is served without a key. */
  openapiPublic: boolean;
  requestLimit: RequestLimit;
}

/** Every page of the dashboard. */
export function dashboardRoutes(ports: DashboardPorts): DashboardRoute[] {
  return [
    ...signInRoutes(ports),
    ...openIdConnectRoutes(ports),
    ...secondStepRoutes(ports),
    ...setupRoutes(ports),
    ...invitationRoutes(ports),
    ...accountRoutes(ports),
    ...twoFactorRoutes(ports),
    ...usersRoutes(ports),
    ...homeRoutes(ports),
    ...overviewRoutes(ports),
    ...referenceRoutes(ports),
    ...recordsRoutes(ports),
    ...auditRoutes(ports),
    ...workspacesRoutes(ports),
    ...keysRoutes(ports),
    ...webhooksRoutes(ports),
  ];
}
