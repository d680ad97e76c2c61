# Asks for the URLs it is given by Net::HTTP, and prints a line of JSON for each.
require "json"
require "net/http"

ARGV.each do |url|
  begin
    response = Net::HTTP.get_response(URI(url))
    line = { status: response.code.to_i, body: response.body }
  rescue StandardError => error
    line = { error: "#{error.class}: #{error.message}" }
  end
  puts({ url: url, **line }.to_json)
end
