# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_hostwatch_global_optspecs
    string join \n h/help V/version
end

function __fish_hostwatch_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_hostwatch_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_hostwatch_using_subcommand
    set -l cmd (__fish_hostwatch_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c hostwatch -n "__fish_hostwatch_needs_command" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -s V -l version -d 'Print version'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "run" -d 'Run the daemon: poll, serve metrics and the status page, send mail'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "demo" -d 'See the whole product work against a built-in provider and mail catcher; nothing to configure'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "simulate" -d 'Simulate the provider alone, for tests and dry runs'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "status" -d 'Show the state of everything, as the running daemon knows it; exit 0 fine, 1 something needs you, 3 not known'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "forecast" -d 'Show what the provider\'s reports say of the balance to come; exit 0 fine, 1 a cut-off is near, 3 not known'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "rehearse" -d 'Show the mails to come if nobody pays, as the real rules would send them; sends nothing. Exit 0, 1 nobody would be told of a cut-off, 3 not known'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "doctor" -d 'Try everything the daemon needs, live: provider, mail server, store; exit 0, or 1 if anything needed fails. Sends nothing'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "check-config" -d 'Check the configuration; exit 0, or 1 with every error, its file, key and remedy'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "metrics" -d 'Print the reference of every metric: name, type, help, labels'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "test-email" -d 'Send one sample alert through the configured SMTP server, and to each webhook'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "healthcheck" -d 'Ask whether the daemon runs and all of its loops work; exit 0, or 1 and why not'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "poll" -d 'Have the running daemon ask the provider now, as after a payment, and show what came; exit 0, or 1 where not all was read'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "incidents" -d 'List open incidents, the worst first, and those that ended lately'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "ack" -d 'Acknowledge an open incident: no more reminders of it, its end is still mailed'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "silence" -d 'Silence what matches a pattern for a while: no mail; what is still wrong at the end is mailed then'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "outbox" -d 'List mails that wait, were sent or given up; try them again, or drop them'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "why" -d 'Say why an incident was or was not mailed, who was mailed when, and what comes next'
complete -c hostwatch -n "__fish_hostwatch_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l web.listen-address -d 'Address to listen on, HOST:PORT, [IPV6]:PORT, or :PORT for every address; may be repeated' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l web.config.file -d 'TLS, passwords and response headers, in the exporter toolkit\'s format (YAML); read anew when it changes' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l web.max-requests -d 'Scrapes served at one time, more are turned away (503); 0 for any number' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l web.telemetry-path -d 'Path of the metrics' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l log.level -d 'Least severe level that is logged' -r -f -a "debug\t''
info\t''
warn\t''
error\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l log.format -d 'Format of the log' -r -f -a "logfmt\t''
json\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l web.systemd-socket -d 'Listen on the sockets that systemd passes, instead of addresses'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -l web.enable-lifecycle -d 'Allow POST /-/reload'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand run" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -l web.listen-address -d 'Address to listen on, HOST:PORT, [IPV6]:PORT, or :PORT for every address; may be repeated' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -l web.config.file -d 'TLS, passwords and response headers, in the exporter toolkit\'s format (YAML); read anew when it changes' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -l web.max-requests -d 'Scrapes served at one time, more are turned away (503); 0 for any number' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -l web.telemetry-path -d 'Path of the metrics' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -l log.level -d 'Least severe level that is logged' -r -f -a "debug\t''
info\t''
warn\t''
error\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -l log.format -d 'Format of the log' -r -f -a "logfmt\t''
json\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -l web.systemd-socket -d 'Listen on the sockets that systemd passes, instead of addresses'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -l web.enable-lifecycle -d 'Allow POST /-/reload'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand demo" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l listen-address -d 'Address to listen on' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l hosting-token -d 'Token the hosting endpoints ask for' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l vm-api-key -d 'API key the VM endpoints ask for' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l billing-username -d 'User name the billing endpoints ask for' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l billing-password -d 'Password the billing endpoints ask for' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l scenario -d 'Scenario file (TOML): size, orders, balance, timetable; see docs/provider.md' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l vms -d 'Number of VMs' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l containers -d 'Number of containers' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l sites -d 'Number of sites' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l seed -d 'Seed: the same seed and scenario make the same account' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l datetime-format -d 'Form of datetimes in records' -r -f -a "naive\t'`2024-01-02T03:04:05`, in the account\'s zone'
offset\t'`2024-01-02T03:04:05+03:00`'
space\t'`2024-01-02 03:04:05`, in the account\'s zone'"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l container-state-codes -d 'Codes of ENABLED, DISABLED_BY_SERVICE, DISABLED_BY_ADMIN, DISABLED_BY_QUOTA, in this order' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l hosting-auth-scheme -d 'Word before the hosting token; "" for none, "any" for any word or none' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l error-body -d 'Body of error answers' -r -f -a "errors\t'`{"errors": {"field": ["what is wrong"]}}`'
detail\t'`{"detail": "field: what is wrong"}`'
text\t'plain text'
empty\t'no body'"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l vm-page-size -d 'Rows on a page of VMs, SSH keys and IPs' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l vm-page-size-parameter -d 'Query parameter that selects the page size of VMs, SSH keys and IPs; without it there is none' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l past-the-limit -d 'What a request past a rate limit gets' -r -f -a "429\t'429 with Retry-After'
serve\t'the answer, as if there were no limit'"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l ssh-keys -d 'Whether the deprecated SSH key API answers' -r -f -a "on\t'as documented'
gone\t'410 to everything'"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l charge-order -d 'Order of the charge list' -r -f -a "newest\t'newest first'
oldest\t'oldest first'"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l log.level -d 'Least severe level that is logged' -r -f -a "debug\t''
info\t''
warn\t''
error\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l log.format -d 'Format of the log' -r -f -a "logfmt\t''
json\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -l control -d 'Open the /_sim/ endpoints: set states, move time, pay, switch faults'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand simulate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand status" -l url -d 'Address of the daemon\'s pages; without it the socket beside its store is asked, else this machine\'s port 10245' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand status" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand status" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand status" -l json -d 'Print the answer of the daemon\'s /api/v1/status as it is'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand status" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand forecast" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand forecast" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand forecast" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand forecast" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand rehearse" -l days -d 'Suppose that the money of every account lasts so many days' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand rehearse" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand rehearse" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand rehearse" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand doctor" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand doctor" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand check-config" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand check-config" -l web.config.file -d 'Check this web configuration too' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand check-config" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand metrics" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand test-email" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand test-email" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand healthcheck" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand healthcheck" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand poll" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand poll" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand poll" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand poll" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand incidents" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand incidents" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand incidents" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand incidents" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand ack" -l comment -d 'Who looks after it, or why it may stay' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand ack" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand ack" -l remove -d 'Take the acknowledgement back'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand ack" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand silence" -l for -d 'For how long, such as 30m, 2h or 3d' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand silence" -l comment -d 'Why, and who' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand silence" -l remove -d 'End the silence of this number' -r
complete -c hostwatch -n "__fish_hostwatch_using_subcommand silence" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand silence" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand silence" -l list -d 'List the silences that are on'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand silence" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand silence" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and not __fish_seen_subcommand_from list retry drop help" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and not __fish_seen_subcommand_from list retry drop help" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and not __fish_seen_subcommand_from list retry drop help" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and not __fish_seen_subcommand_from list retry drop help" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and not __fish_seen_subcommand_from list retry drop help" -f -a "list" -d 'List mails: what was given up, what waits, then the latest'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and not __fish_seen_subcommand_from list retry drop help" -f -a "retry" -d 'Try mails that wait or were given up again, now'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and not __fish_seen_subcommand_from list retry drop help" -f -a "drop" -d 'Take mails that wait or were given up out of the outbox for good'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and not __fish_seen_subcommand_from list retry drop help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from list" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from retry" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from retry" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from retry" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from retry" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from drop" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from drop" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from drop" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from drop" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from help" -f -a "list" -d 'List mails: what was given up, what waits, then the latest'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from help" -f -a "retry" -d 'Try mails that wait or were given up again, now'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from help" -f -a "drop" -d 'Take mails that wait or were given up out of the outbox for good'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand outbox; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand why" -l color -d 'Colours: auto is on a terminal, and not where NO_COLOR is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c hostwatch -n "__fish_hostwatch_using_subcommand why" -l config.file -d 'Configuration file' -r -F
complete -c hostwatch -n "__fish_hostwatch_using_subcommand why" -l json -d 'Print JSON'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand why" -s h -l help -d 'Print help'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "run" -d 'Run the daemon: poll, serve metrics and the status page, send mail'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "demo" -d 'See the whole product work against a built-in provider and mail catcher; nothing to configure'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "simulate" -d 'Simulate the provider alone, for tests and dry runs'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "status" -d 'Show the state of everything, as the running daemon knows it; exit 0 fine, 1 something needs you, 3 not known'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "forecast" -d 'Show what the provider\'s reports say of the balance to come; exit 0 fine, 1 a cut-off is near, 3 not known'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "rehearse" -d 'Show the mails to come if nobody pays, as the real rules would send them; sends nothing. Exit 0, 1 nobody would be told of a cut-off, 3 not known'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "doctor" -d 'Try everything the daemon needs, live: provider, mail server, store; exit 0, or 1 if anything needed fails. Sends nothing'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "check-config" -d 'Check the configuration; exit 0, or 1 with every error, its file, key and remedy'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "metrics" -d 'Print the reference of every metric: name, type, help, labels'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "test-email" -d 'Send one sample alert through the configured SMTP server, and to each webhook'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "healthcheck" -d 'Ask whether the daemon runs and all of its loops work; exit 0, or 1 and why not'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "poll" -d 'Have the running daemon ask the provider now, as after a payment, and show what came; exit 0, or 1 where not all was read'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "incidents" -d 'List open incidents, the worst first, and those that ended lately'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "ack" -d 'Acknowledge an open incident: no more reminders of it, its end is still mailed'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "silence" -d 'Silence what matches a pattern for a while: no mail; what is still wrong at the end is mailed then'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "outbox" -d 'List mails that wait, were sent or given up; try them again, or drop them'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "why" -d 'Say why an incident was or was not mailed, who was mailed when, and what comes next'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and not __fish_seen_subcommand_from run demo simulate status forecast rehearse doctor check-config metrics test-email healthcheck poll incidents ack silence outbox why help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and __fish_seen_subcommand_from outbox" -f -a "list" -d 'List mails: what was given up, what waits, then the latest'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and __fish_seen_subcommand_from outbox" -f -a "retry" -d 'Try mails that wait or were given up again, now'
complete -c hostwatch -n "__fish_hostwatch_using_subcommand help; and __fish_seen_subcommand_from outbox" -f -a "drop" -d 'Take mails that wait or were given up out of the outbox for good'
