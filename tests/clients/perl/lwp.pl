# Asks for the URLs it is given by LWP, and prints a line of JSON for each.
use strict;
use warnings;
use JSON::PP;
use LWP::UserAgent;

my $agent = LWP::UserAgent->new(timeout => 10);
for my $url (@ARGV) {
    my $response = $agent->get($url);
    # LWP makes an answer of its own where there is none
    my %line = ($response->header('Client-Warning') // '') eq 'Internal response'
        ? (error => $response->status_line)
        : (status => $response->code, body => $response->decoded_content);
    print encode_json({ url => $url, %line }), "\n";
}
