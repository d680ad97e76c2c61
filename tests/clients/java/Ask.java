import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

/** Asks for the URLs it is given, and prints a line of JSON for each: Ask (HttpClient|HttpURLConnection) URL... */
public class Ask {
  record Answer(int status, String body) {}

  static Answer byHttpClient(URI url) throws Exception {
    HttpResponse<String> response =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(url).build(), HttpResponse.BodyHandlers.ofString());
    return new Answer(response.statusCode(), response.body());
  }

  static Answer byHttpURLConnection(URI url) throws Exception {
    HttpURLConnection connection = (HttpURLConnection) url.toURL().openConnection();
    int status = connection.getResponseCode();
    try (var stream = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      return new Answer(status, new String(stream.readAllBytes(), StandardCharsets.UTF_8));
    }
  }

  static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char one : text.toCharArray()) {
      quoted.append(one < ' ' || one == '"' || one == '\\' ? String.format("\\u%04x", (int) one) : one);
    }
    return quoted.append('"').toString();
  }

  public static void main(String[] arguments) {
    for (int at = 1; at < arguments.length; at++) {
      String line;
      try {
        URI url = URI.create(arguments[at]);
        Answer answer = arguments[0].equals("HttpClient") ? byHttpClient(url) : byHttpURLConnection(url);
        line = "\"status\": " + answer.status + ", \"body\": " + quoted(answer.body);
      } catch (Exception error) {
        line = "\"error\": " + quoted(error.toString());
      }
      System.out.println("{\"url\": " + quoted(arguments[at]) + ", " + line + "}");
    }
  }
}
