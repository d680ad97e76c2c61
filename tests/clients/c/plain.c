/* Asks for the http: URLs it is given over a socket of its own, without a library, and prints a line of JSON for each.
   Linked statically: nothing that is preloaded, and nothing that the environment says, reaches it. */

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void quote(const char *text) {
  putchar('"');
  for (; *text; text++) {
    unsigned char one = *text;
    printf(one < ' ' || one == '"' || one == '\\' ? "\\u%04x" : "%c", one);
  }
  putchar('"');
}

/* Returns NULL, or what went wrong. */
static const char *ask(const char *host, const char *path, char *answer, size_t size) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET}, *found;
  if (getaddrinfo(host, "80", &hints, &found) != 0) return "no such name";
  int fd = socket(found->ai_family, SOCK_STREAM, 0);
  int failed = connect(fd, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  size_t length = 0;
  if (!failed) {
    dprintf(fd, "GET /%s HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n", path, host);
    for (ssize_t got; length < size - 1 && (got = read(fd, answer + length, size - 1 - length)) > 0;) length += got;
  }
  answer[length] = 0;
  close(fd);
  return failed ? "not connected" : length == 0 ? "no answer" : NULL;
}

int main(int count, char **urls) {
  for (int at = 1; at < count; at++) {
    char host[256] = "", path[256] = "", answer[65536];
    int status = 0;
    sscanf(urls[at], "http://%255[^/]/%255s", host, path);
    const char *wrong = ask(host, path, answer, sizeof answer);
    printf("{\"url\": ");
    quote(urls[at]);
    if (wrong) {
      printf(", \"error\": ");
      quote(wrong);
    } else {
      sscanf(answer, "HTTP/1.1 %d", &status);
      const char *body = strstr(answer, "\r\n\r\n");
      printf(", \"status\": %d, \"body\": ", status);
      quote(body ? body + 4 : "");
    }
    puts("}");
  }
}
