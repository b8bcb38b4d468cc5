server {
    listen 80;
    server_name b.example.com ~^(?<sub>[a-z]+)\.b\.example\.com$;
    include snippets/common.conf;
    location / { return 200 "b $sub\n"; }
    location /a { return 307 /b; }
}
