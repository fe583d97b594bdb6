import type { ErasurePorts } from '../../erasure/finishErasure.ts';
import type { EvidencePorts } from '../../evidence/evidencePorts.ts';
import type { AppPorts } from '../../http/endpoints/index.ts';
import type { Analyses } from '../../readiness/analyses.ts';
import type { WebhookDirectory } from '../../webhooks/settings/WebhookDirectory.ts';
import { auditRoutes } from '../audit/audit.ts';
import { disclosureRoutes } from '../disclosures/disclosureRoutes.ts';
import { eventsRoutes } from '../events/events.ts';
import { evidenceRoutes } from '../evidence/evidence.ts';
import { holdChangeRoutes } from '../holds/holdChange.ts';
import { holdsRoutes } from '../holds/holds.ts';
import { keyChangeRoutes } from '../keys/keyChanges.ts';
import { keysRoutes } from '../keys/keys.ts';
import { workspacesRoutes } from '../keys/workspaces.ts';
import { messagePageRoutes } from '../messages/messagePage.ts';
import { messagesRoutes } from '../messages/messages.ts';
import { allWorkspacesRoutes } from '../overview/allWorkspaces.ts';
import { homeRoutes } from '../overview/home.ts';
import { overviewRoutes } from '../overview/overview.ts';
import { acknowledgeBillingRoutes } from '../readiness/acknowledgeBilling.ts';
import { scorecardRoutes } from '../readiness/analyses/scorecard.ts';
import { simulationRoutes } from '../readiness/analyses/simulation.ts';
import { worklistRoutes } from '../readiness/worklist.ts';
import { recordCertificateRoutes } from '../records/recordCertificate.ts';
import { recordCompareRoutes } from '../records/recordCompare.ts';
import { recordDocumentsRoutes } from '../records/recordDocuments.ts';
import { recordEraseRoutes } from '../records/recordErase.ts';
import { recordFieldRoutes } from '../records/recordField.ts';
import { recordPrintRoutes } from '../records/recordPrint.ts';
import { recordProofRoutes } from '../records/recordProof.ts';
import { recordStateRoutes } from '../records/recordState.ts';
import { recordsRoutes } from '../records/records.ts';
import { recordTimelineRoutes } from '../records/recordTimeline.ts';
import { referenceRoutes } from '../reference/reference.ts';
import { requestsRoutes } from '../requests/requests.ts';
import { searchRoutes } from '../search/search.ts';
import { sourceFormRoutes } from '../sources/sourceForm.ts';
import { sourcesRoutes } from '../sources/sources.ts';
import { accountRoutes } from '../users/account.ts';
import { invitationRoutes } from '../users/invitation.ts';
import { type OpenIdConnectPagePorts, openIdConnectRoutes } from '../users/openIdConnect.ts';
import { prolongRoutes } from '../users/prolong.ts';
import { secondStepRoutes } from '../users/secondStep.ts';
import { setupRoutes } from '../users/setup.ts';
import { signInRoutes } from '../users/signIn.ts';
import { type TwoFactorPagePorts, twoFactorRoutes } from '../users/twoFactor.ts';
import { userRoutes } from '../users/user.ts';
import { usersRoutes } from '../users/users.ts';
import { webhookChangeRoutes } from '../webhooks/webhookChanges.ts';
import { webhookFormRoutes } from '../webhooks/webhookForm.ts';
import { webhookPageRoutes } from '../webhooks/webhookPage.ts';
import { webhookSecretRoutes } from '../webhooks/webhookSecretPage.ts';
import { webhooksRoutes } from '../webhooks/webhooks.ts';
import type { RequestLimit } from './requestLimit.ts';
import type { DashboardRoute } from './route.ts';

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
