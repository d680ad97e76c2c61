<?php
// Asks for the URLs it is given, and prints a line of JSON for each: ask.php (curl|streams) URL...

function by_curl(string $url): array
{
    $handle = curl_init($url);
    curl_setopt_array($handle, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 10]);
    $body = curl_exec($handle);
    if ($body === false) {
        return ["error" => curl_error($handle)];
    }
    return ["status" => curl_getinfo($handle, CURLINFO_RESPONSE_CODE), "body" => $body];
}

function by_streams(string $url): array
{
    $context = stream_context_create(["http" => ["ignore_errors" => true, "timeout" => 10]]);
    $body = @file_get_contents($url, false, $context);
    if ($body === false) {
        return ["error" => error_get_last()["message"]];
    }
    return ["status" => (int) explode(" ", $http_response_header[0])[1], "body" => $body];
}

[, $client] = $argv;
foreach (array_slice($argv, 2) as $url) {
    echo json_encode(["url" => $url] + ("by_$client")($url)), "\n";
}
