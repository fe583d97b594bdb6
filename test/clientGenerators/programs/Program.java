import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DocumentsApi;
import org.openapitools.client.api.EncountersApi;
import org.openapitools.client.model.Encounter;
import org.openapitools.client.model.EncounterPage;
import org.openapitools.client.model.ErrorBody;
import org.openapitools.client.model.ErrorDetail;
import org.openapitools.client.model.Written;

/** What an EMR does, through the Java client of openapi-generator. */
public class Program {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("CHARTLEDGER_URL"));
    client.setRequestInterceptor(request -> request.header("x-api-key", System.getenv("CHARTLEDGER_API_KEY")));
    EncountersApi encounters = new EncountersApi(client);

    Encounter encounter = new Encounter().id("encounter-1").patientId("patient-1").isCompleted(true);
    Written written = encounters.upsertEncounter(encounter, null, null, null, null, null, null);

    ErrorBody error = null;
    try {
      Encounter unknown = new Encounter().id("encounter-2").patientId("nobody");
      encounters.upsertEncounter(unknown, null, null, null, null, null, null);
    } catch (ApiException refused) {
      error = client.getObjectMapper().readValue(refused.getResponseBody(), ErrorBody.class);
    }
    List<Object> refused = new ArrayList<>();
    for (ErrorDetail detail : error.getDetails()) refused.add(List.of(detail.getField(), detail.getId()));

    File report = new File(System.getenv("REPORT"));
    String uploaded =
        new DocumentsApi(client)
            .uploadDocument("encounter-1", "report-1", "lab_results", report, null, null, null)
            .getDocumentId();

    List<Object> listed = new ArrayList<>();
    String token = null;
    do {
      EncounterPage page = encounters.listEncounters(1, token, null, null, null, null, null, null, null, true, null, null);
      page.getItems()
          .forEach(item -> listed.add(List.of(item.getRecord().getId(), item.getRecord().getIsCompleted())));
      token = page.getNextPageToken();
    } while (token != null);

    Map<String, Object> done =
        Map.of(
            "written", List.of(written.getOutcome().getValue(), written.getVersion()),
            "refused", refused,
            "uploaded", uploaded,
            "listed", listed);
    System.out.println(new ObjectMapper().writeValueAsString(done));
  }
}
