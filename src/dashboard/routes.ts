import type { AppPorts } from '../api/routes/index.ts';
import type { ErasurePorts } from '../modules/erasure/finishErasure.ts';
import type { EvidencePorts } from '../modules/integrity/evidencePorts.ts';
import type { Analyses } from '../modules/readiness/analyses.ts';
import type { WebhookDirectory } from '../modules/webhooks/WebhookDirectory.ts';
import type { DashboardRoute } from './components/route.ts';
import type { RequestLimit } from './http/requestLimit.ts';
import { accountRoutes } from './pages/account.ts';
import { acknowledgeBillingRoutes } from './pages/acknowledgeBilling.ts';
import { allWorkspacesRoutes } from './pages/allWorkspaces.ts';
import { auditRoutes } from './pages/audit.ts';
import { disclosureRoutes } from './pages/disclosureRoutes.ts';
import { eventsRoutes } from './pages/events.ts';
import { evidenceRoutes } from './pages/evidence.ts';
import { holdChangeRoutes } from './pages/holdChange.ts';
import { holdsRoutes } from './pages/holds.ts';
import { homeRoutes } from './pages/home.ts';
import { invitationRoutes } from './pages/invitation.ts';
import { keyChangeRoutes } from './pages/keyChanges.ts';
import { keysRoutes } from './pages/keys.ts';
import { messagePageRoutes } from './pages/messagePage.ts';
import { messagesRoutes } from './pages/messages.ts';
import { type OpenIdConnectPagePorts, openIdConnectRoutes } from './pages/openIdConnect.ts';
import { overviewRoutes } from './pages/overview.ts';
import { prolongRoutes } from './pages/prolong.ts';
import { recordCertificateRoutes } from './pages/records/recordCertificate.ts';
import { recordCompareRoutes } from './pages/records/recordCompare.ts';
import { recordDocumentsRoutes } from './pages/records/recordDocuments.ts';
import { recordEraseRoutes } from './pages/records/recordErase.ts';
import { recordFieldRoutes } from './pages/records/recordField.ts';
import { recordPrintRoutes } from './pages/records/recordPrint.ts';
import { recordProofRoutes } from './pages/records/recordProof.ts';
import { recordStateRoutes } from './pages/records/recordState.ts';
import { recordsRoutes } from './pages/records/records.ts';
import { recordTimelineRoutes } from './pages/records/recordTimeline.ts';
import { referenceRoutes } from './pages/reference/reference.ts';
import { requestsRoutes } from './pages/requests.ts';
import { scorecardRoutes } from './pages/scorecard.ts';
import { searchRoutes } from './pages/search.ts';
import { secondStepRoutes } from './pages/secondStep.ts';
import { setupRoutes } from './pages/setup.ts';
import { signInRoutes } from './pages/signIn.ts';
import { simulationRoutes } from './pages/simulation.ts';
import { sourceFormRoutes } from './pages/sourceForm.ts';
import { sourcesRoutes } from './pages/sources.ts';
import { type TwoFactorPagePorts, twoFactorRoutes } from './pages/twoFactor.ts';
import { userRoutes } from './pages/user.ts';
import { usersRoutes } from './pages/users.ts';
import { webhookChangeRoutes } from './pages/webhookChanges.ts';
import { webhookFormRoutes } from './pages/webhookForm.ts';
import { webhookPageRoutes } from './pages/webhookPage.ts';
import { webhookSecretRoutes } from './pages/webhookSecretPage.ts';
import { webhooksRoutes } from './pages/webhooks.ts';
import { worklistRoutes } from './pages/worklist.ts';
import { workspacesRoutes } from './pages/workspaces.ts';

export interface DashboardPorts extends AppPorts, ErasurePorts, OpenIdConnectPagePorts, TwoFactorPagePorts {
  webhookDirectory: WebhookDirectory;
  /** `RETENTION_YEARS`; undefined: everything is kept. */
  retentionYears: number | undefined;
  /** Whether the description of the interface is served without a key. */
  openapiPublic: boolean;
  requestLimit: RequestLimit;
  evidence: EvidencePorts;
  analyses: Analyses;
}

/** Every page of the dashboard: a file for each, with its forms, and a line here. */
export function dashboardRoutes(ports: DashboardPorts): DashboardRoute[] {
  return [
    ...signInRoutes(ports),
    ...openIdConnectRoutes(ports),
    ...secondStepRoutes(ports),
    ...setupRoutes(ports),
    ...invitationRoutes(ports),
    ...accountRoutes(ports),
    ...prolongRoutes(),
    ...twoFactorRoutes(ports),
    ...usersRoutes(ports),
    ...userRoutes(ports),
    ...homeRoutes(ports),
    ...overviewRoutes(ports),
    ...allWorkspacesRoutes(ports),
    ...referenceRoutes(ports),
    ...searchRoutes(ports),
    ...recordsRoutes(ports),
    ...worklistRoutes(ports),
    ...acknowledgeBillingRoutes(ports),
    ...simulationRoutes(ports),
    ...scorecardRoutes(ports),
    ...recordDocumentsRoutes(ports),
    ...recordCompareRoutes(ports),
    ...recordFieldRoutes(ports),
    ...recordTimelineRoutes(ports),
    ...recordPrintRoutes(ports),
    ...recordEraseRoutes(ports),
    ...disclosureRoutes(ports),
    ...recordCertificateRoutes(ports),
    ...recordProofRoutes(ports),
    ...recordStateRoutes(ports),
    ...holdsRoutes(ports),
    ...holdChangeRoutes(ports),
    ...eventsRoutes(ports),
    ...messagesRoutes(ports),
    ...messagePageRoutes(ports),
    ...requestsRoutes(ports),
    ...auditRoutes(ports),
    ...evidenceRoutes(ports),
    ...workspacesRoutes(ports),
    ...keysRoutes(ports),
    ...keyChangeRoutes(ports),
    ...sourcesRoutes(ports),
    ...sourceFormRoutes(ports),
    ...webhooksRoutes(ports),
    ...webhookFormRoutes(ports),
    ...webhookChangeRoutes(ports),
    ...webhookPageRoutes(ports),
    ...webhookSecretRoutes(ports),
  ];
}
